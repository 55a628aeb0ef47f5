package traces

import "github.com/watchsim/watchsim/model"

// codes are the failures of the format.
var codes = map[model.Code]bool{
	model.OK: true, model.NotFound: true, model.AlreadyExists: true, model.Conflict: true, model.Expired: true,
	model.TooLarge: true, model.Invalid: true, model.TooMany: true, model.Unknown: true, model.Unavailable: true,
}

// answers and reasons are those of the format.
var (
	answers = map[model.Answer]bool{"": true, model.InternalError: true, model.TimedOut: true, model.StoreError: true}
	reasons = map[model.CloseReason]bool{"": true, model.ClosedByClient: true, model.ClosedByServer: true, model.ClosedByError: true, model.ClosedByReset: true}
)

func (v *validation) answer(at place, code model.Code, answer model.Answer) {
	v.demand(answers[answer], at, "answer", string(answer), "InternalError, Timeout, StoreError or nothing")
	v.demand(answer == "" || code == model.Unknown, at, "answer", string(answer), "nothing, because err is not Unknown")
}

func (v *validation) code(at place, code model.Code) {
	v.demand(codes[code], at, "err", string(code),
		"NotFound, AlreadyExists, Conflict, Expired, TooLarge, Invalid, TooMany, Unknown, Unavailable or nothing")
}

// asked checks what operations and streams have in common: client, server and times.
func (v *validation) asked(at place, ids map[int]int, id int, client, server string, call, returned int64) {
	_, again := ids[id]
	v.demand(id >= 1, at, "id", id, "a number from 1 on")
	v.demand(!again, at, "id", id, "a number that no earlier %s has", at.kind)
	v.named(at, "client", client, "a client")
	v.named(at, "server", server, "a server")
	v.time(at, "call", call, 0, "")
	v.timeOr(at, "return", returned, call, "its call", ", or -1 for never")
	ids[id] = at.index
}

func (v *validation) requestedVersion(at place, rv int64) {
	v.demand(rv >= model.RVUnset, at, "rv", rv, "a resourceVersion, 0, or -1 for none")
}

func (v *validation) allOperations() {
	written := map[writtenValue]int{}
	for i := range v.history.Operations {
		op := &v.history.Operations[i]
		at := place{kindOperation, i, "operation %d", []any{op.ID}}
		v.asked(at, v.operations, op.ID, op.Client, op.Server, op.Call, op.Return)
		v.request(at, op)
		v.uniqueValue(at, op, written)
		v.code(at, op.Err)
		v.answer(at, op.Err, op.Answer)
		v.demand(op.ErrRV >= model.RVUnset, at, "errRV", op.ErrRV, "a resourceVersion, -1 if the error named none, or 0 if that is not known")
		v.version(at, "resultRV", op.ResultRV)
		v.demand(op.Remaining >= -1, at, "remaining", op.Remaining, "a number of items, or -1 if the server gave none")
		v.objects(at, op.Objects)
	}
}

// request checks that the request of an operation is possible.
func (v *validation) request(at place, op *model.Operation) {
	switch op.Kind {
	case model.Create, model.Update:
		v.demand(op.Object != nil && op.Object.Name != "", at, "object", "none", "the object that the %s writes, with its name", op.Kind)
	case model.Delete, model.Get:
		v.demand(op.Object != nil || op.Scope.Name != "", at, "scope.name", "", "the name of the object to %s", op.Kind)
		v.demand(op.Object == nil || op.Object.Name != "", at, "object.name", "", "the name of the object to %s", op.Kind)
	case model.List:
	default:
		v.demand(false, at, "kind", string(op.Kind), "create, update, delete, get or list")
	}
	v.demand(!op.Touch || op.Kind == model.Get, at, "touch", "true", "false unless kind is get")
	v.demand(len(op.Patch) == 0 || op.Touch, at, "patch", op.Patch, "nothing unless touch is set")
	known := op.Match == model.MatchUnset || op.Match == model.MatchExact || op.Match == model.MatchNotOlderThan
	v.demand(known, at, "match", string(op.Match), "Exact, NotOlderThan or nothing")
	v.requestedVersion(at, op.RV)
	v.version(at, "precondition", op.Precondition)
	v.demand(op.Limit >= 0, at, "limit", op.Limit, "the most items of a page, or 0 for no limit")
}

// writtenValue is the value that a write requests for an object.
type writtenValue struct {
	key   model.Key
	value string
}

// uniqueValue requires that every write of an object has a unique value, by which it
// is found among the committed changes.
func (v *validation) uniqueValue(at place, op *model.Operation, written map[writtenValue]int) {
	if v.err != nil || op.Kind != model.Create && op.Kind != model.Update {
		return
	}
	value := writtenValue{op.Object.Key(), op.Object.Value}
	before, again := written[value]
	v.demand(!again, at, "object.value", value.value, "a value that no other write of %s has, such as operation %d", value.key, before)
	written[value] = op.ID
}

func (v *validation) allStreams() {
	for i := range v.history.Streams {
		s := &v.history.Streams[i]
		at := place{kindStream, i, "stream %d", []any{s.ID}}
		v.asked(at, v.streams, s.ID, s.Client, s.Server, s.Call, s.Return)
		v.timeOr(at, "closed", s.Closed, max(s.Call, s.Return), "when it was opened", ", or -1 for never")
		v.requestedVersion(at, s.RV)
		v.demand(s.Timeout >= 0, at, "timeout", s.Timeout, "nanoseconds, or 0 for none")
		v.code(at, s.Err)
		v.answer(at, s.Err, s.Answer)
		v.demand(s.Err == model.OK || len(s.Events) == 0, at, "err", string(s.Err), "nothing, because events arrived")
		v.demand(reasons[s.Reason], at, "reason", string(s.Reason), "client, server, error, connection or nothing")
		before, what := s.Call, "the call of its stream"
		for j := range s.Events {
			v.event(s, j, before, what)
			before, what = s.Events[j].Time, "that of the event before it"
		}
		v.events += len(s.Events)
	}
}

// event checks that an event can have arrived, given the earliest possible time. Its
// type may be anything a server sends: a rule judges that.
func (v *validation) event(s *model.Stream, j int, before int64, what string) {
	event := &s.Events[j]
	negative := event.Object != nil && event.Object.RV < 0
	open := s.Closed == model.Pending || event.Time <= s.Closed
	if event.Time >= before && event.Time <= v.history.End && open && event.Stream == s.ID && event.Type != "" && event.RV >= 0 && codes[event.Err] && event.Answer == "" && !negative {
		return // the common case
	}
	at := place{kindEvent, v.events + j, "event %d of stream %d", []any{j + 1, s.ID}}
	v.demand(event.Stream == s.ID, at, "stream", event.Stream, "%d, the stream that holds it", s.ID)
	v.time(at, "time", event.Time, before, what)
	v.demand(open, at, "time", event.Time, "a time not after its stream closed at %d", s.Closed)
	v.demand(event.Type != "", at, "type", "", "ADDED, MODIFIED, DELETED, BOOKMARK, ERROR, or what else the server sent")
	v.version(at, "rv", event.RV)
	if negative {
		v.version(at, "object.rv", event.Object.RV)
	}
	v.code(at, event.Err)
	v.answer(at, event.Err, event.Answer)
}

// references requires that what a request continues exists.
func (v *validation) references() {
	h := v.history
	isList := func(id int) bool {
		i, known := v.operations[id]
		return known && h.Operations[i].Kind == model.List
	}
	for i := range h.Operations {
		op := &h.Operations[i]
		v.demand(op.Continues == 0 || isList(op.Continues) && op.Continues != op.ID,
			place{kindOperation, i, "operation %d", []any{op.ID}}, "continues", op.Continues, "the id of another list")
	}
	for i := range h.Streams {
		s := &h.Streams[i]
		at := place{kindStream, i, "stream %d", []any{s.ID}}
		_, known := v.streams[s.ResumesStream]
		v.demand(s.ResumesStream == 0 || known && s.ResumesStream != s.ID, at, "resumesStream", s.ResumesStream, "the id of another stream")
		v.demand(s.ResumesList == 0 || isList(s.ResumesList), at, "resumesList", s.ResumesList, "the id of a list")
	}
}
