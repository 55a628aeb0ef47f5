package traces

import (
	"fmt"
	"math"

	"github.com/watchsim/watchsim/model"
)

// Validate returns an error, which wraps [ErrBadRecord], if a history is one that
// nobody can have recorded: times that run backwards, revisions that etcd does
// not have, references to nothing. It says nothing of whether the history obeys
// the model: what a server can have answered, however wrong, is valid.
//
// Rules may take for granted what Validate demands.
func Validate(h *model.History) error { return validate(h, nil) }

// lineNumbers are the lines of a history's records by kind, those of one kind in
// the order in which the history holds them.
type lineNumbers map[string][]int

func validate(h *model.History, lines lineNumbers) error {
	v := &validation{history: h, lines: lines, operations: map[int]int{}, streams: map[int]int{}}
	for _, check := range []func() error{v.end, v.truth, v.faults, v.allOperations, v.allStreams, v.references, v.informers, v.censuses, v.leaders, v.windows} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// validation goes through a history and stops at the first record that is bad.
type validation struct {
	history *model.History
	lines   lineNumbers
	// operations and streams map IDs to indices.
	operations, streams map[int]int
	// events counts those of the streams before.
	events int
}

// place is one record of a history.
type place struct {
	kind  string
	index int // among the records of its kind
	name  string
}

// bad returns an error about a field of one record.
func (v *validation) bad(at place, field, expected string, found any) error {
	where := Printable(at.name)
	if lines := v.lines[at.kind]; at.index < len(lines) {
		where = fmt.Sprintf("line %d, %s", lines[at.index], where)
	}
	if text, isText := found.(string); isText {
		found = fmt.Sprintf("%q", text)
	}
	return fmt.Errorf("%w: %s, field %s: expected %s, found %v", ErrBadRecord, where, field, expected, found)
}

func (v *validation) end() error {
	h, at := v.history, place{kindEnd, 0, "the end record"}
	switch {
	case h.End < 0:
		return v.bad(at, "end", "a time from 0 on", h.End)
	case h.Healed < 0 || h.Healed > h.End:
		return v.bad(at, "healed", fmt.Sprintf("a time from 0 to the end at %d", h.End), h.Healed)
	case h.Truth.Revision < 0:
		return v.bad(at, "revision", "etcd's last revision, or 0 if it is unknown", h.Truth.Revision)
	}
	return nil
}

// truth demands what etcd's own log always has. A history without any truth has
// none of it, and 0 as the last revision.
func (v *validation) truth() error {
	truth := &v.history.Truth
	last := int64(0)
	for i := range truth.Changes {
		change := &truth.Changes[i]
		at := place{kindChange, i, fmt.Sprintf("the change to %s", change.Object.Key())}
		switch {
		case change.RV <= last:
			return v.bad(at, "rv", fmt.Sprintf("a revision above %d, that of the change before", last), change.RV)
		case change.RV > truth.Revision:
			return v.bad(at, "rv", fmt.Sprintf("at most %d, the last revision that the end record names", truth.Revision), change.RV)
		case change.Object.Name == "":
			return v.bad(at, "object.name", "the name of an object", "")
		case change.Expired && !change.Deleted:
			return v.bad(at, "expired", "it with deleted alone, as only what is deleted expires", true)
		}
		last = change.RV
	}
	last = 0
	for i, compaction := range truth.Compactions {
		at := place{kindCompaction, i, fmt.Sprintf("compaction %d", i+1)}
		switch {
		case compaction.RV <= last:
			return v.bad(at, "rv", fmt.Sprintf("a revision above %d, that of the compaction before", last), compaction.RV)
		case compaction.RV > truth.Revision:
			return v.bad(at, "rv", fmt.Sprintf("at most %d, the last revision that the end record names", truth.Revision), compaction.RV)
		case compaction.Time != model.Pending && !v.within(compaction.Time):
			return v.bad(at, "time", v.until(0, "")+", or -1 if it is unknown", compaction.Time)
		}
		last = compaction.RV
	}
	return nil
}

func (v *validation) faults() error {
	for i := range v.history.Faults {
		fault := &v.history.Faults[i]
		at := place{kindFault, i, fmt.Sprintf("fault %d", i+1)}
		switch {
		case fault.Name == "":
			return v.bad(at, "name", "the name of a fault", "")
		case !v.within(fault.Begin):
			return v.bad(at, "begin", v.until(0, ""), fault.Begin)
		case fault.End < fault.Begin || !v.within(fault.End):
			return v.bad(at, "end", v.until(fault.Begin, "its begin"), fault.End)
		}
	}
	return nil
}

// within reports whether a time lies within the recording.
func (v *validation) within(time int64) bool { return time >= 0 && time <= v.history.End }

// until describes the times from one that is known under a name.
func (v *validation) until(from int64, what string) string {
	if what != "" {
		return fmt.Sprintf("a time from %d, %s, to the end at %d", from, what, v.history.End)
	}
	return fmt.Sprintf("a time from %d to the end at %d", from, v.history.End)
}

// codes are the failures that the format knows.
var codes = map[model.Code]bool{
	model.OK: true, model.NotFound: true, model.AlreadyExists: true, model.Conflict: true, model.Expired: true,
	model.TooLarge: true, model.Invalid: true, model.TooMany: true, model.Unknown: true, model.Unavailable: true,
}

const (
	requestRVs = "a resourceVersion, 0, or -1 for none"
	errCodes   = "NotFound, AlreadyExists, Conflict, Expired, TooLarge, Invalid, TooMany, Unknown, Unavailable or nothing"
)

func (v *validation) allStreams() error {
	for i := range v.history.Streams {
		if err := v.stream(i); err != nil {
			return err
		}
	}
	return nil
}

func (v *validation) stream(i int) error {
	s := &v.history.Streams[i]
	at := place{kindStream, i, fmt.Sprintf("stream %d", s.ID)}
	_, again := v.streams[s.ID]
	switch {
	case s.ID < 1:
		return v.bad(at, "id", "a number from 1 on", s.ID)
	case again:
		return v.bad(at, "id", "a number that no stream before it has", s.ID)
	case s.Client == "":
		return v.bad(at, "client", "the name of a client", "")
	case s.Server == "":
		return v.bad(at, "server", "the name of a server", "")
	case !v.within(s.Call):
		return v.bad(at, "call", v.until(0, ""), s.Call)
	case s.Return != model.Pending && (s.Return < s.Call || !v.within(s.Return)):
		return v.bad(at, "return", v.until(s.Call, "its call")+", or -1 for never", s.Return)
	case s.Closed != model.Pending && (s.Closed < max(s.Call, s.Return) || !v.within(s.Closed)):
		return v.bad(at, "closed", v.until(max(s.Call, s.Return), "when it was opened")+", or -1 for never", s.Closed)
	case s.RV < model.RVUnset:
		return v.bad(at, "rv", requestRVs, s.RV)
	case s.Timeout < 0:
		return v.bad(at, "timeout", "nanoseconds, or 0 for none", s.Timeout)
	case !codes[s.Err]:
		return v.bad(at, "err", errCodes, string(s.Err))
	case s.Err != model.OK && len(s.Events) > 0:
		return v.bad(at, "err", "nothing, as events came", string(s.Err))
	}
	switch s.Reason {
	case "", model.ClosedByClient, model.ClosedByServer, model.ClosedByError, model.ClosedByReset:
	default:
		return v.bad(at, "reason", "client, server, error, connection or nothing", string(s.Reason))
	}
	v.streams[s.ID] = i
	before, what := s.Call, "the call of its stream"
	for j := range s.Events {
		if err := v.event(s, j, before, what); err != nil {
			return err
		}
		before, what = s.Events[j].Time, "when the event before it came"
	}
	v.events += len(s.Events)
	return nil
}

// event judges one event of a stream, given the earliest time it can have. Its
// type may be anything: that is the server's word, and for a rule to judge.
func (v *validation) event(s *model.Stream, j int, before int64, what string) error {
	event := &s.Events[j]
	negative := event.Object != nil && event.Object.RV < 0
	if event.Time >= before && event.Time <= v.history.End && (s.Closed == model.Pending || event.Time <= s.Closed) &&
		event.Stream == s.ID && event.Type != "" && event.RV >= 0 && codes[event.Err] && !negative {
		return nil
	}
	at := place{kindEvent, v.events + j, fmt.Sprintf("event %d of stream %d", j+1, s.ID)}
	switch {
	case event.Stream != s.ID:
		return v.bad(at, "stream", fmt.Sprintf("%d, the stream that holds it", s.ID), event.Stream)
	case event.Time < before || event.Time > v.history.End:
		return v.bad(at, "time", v.until(before, what), event.Time)
	case s.Closed != model.Pending && event.Time > s.Closed:
		return v.bad(at, "time", fmt.Sprintf("a time not after its stream closed at %d", s.Closed), event.Time)
	case event.Type == "":
		return v.bad(at, "type", "ADDED, MODIFIED, DELETED, BOOKMARK, ERROR, or what else the server sent", "")
	case event.RV < 0:
		return v.bad(at, "rv", "a resourceVersion, or 0 for none", event.RV)
	case negative:
		return v.bad(at, "object.rv", "a resourceVersion, or 0 for none", event.Object.RV)
	}
	return v.bad(at, "err", errCodes, string(event.Err))
}

// references demands that what a request continues is there.
func (v *validation) references() error {
	h := v.history
	isList := func(id int) bool {
		i, known := v.operations[id]
		return known && h.Operations[i].Kind == model.List
	}
	for i := range h.Operations {
		op := &h.Operations[i]
		if op.Continues != 0 && (!isList(op.Continues) || op.Continues == op.ID) {
			return v.bad(place{kindOperation, i, fmt.Sprintf("operation %d", op.ID)}, "continues", "the id of another list", op.Continues)
		}
	}
	for i := range h.Streams {
		s := &h.Streams[i]
		at := place{kindStream, i, fmt.Sprintf("stream %d", s.ID)}
		if _, known := v.streams[s.ResumesStream]; s.ResumesStream != 0 && (!known || s.ResumesStream == s.ID) {
			return v.bad(at, "resumesStream", "the id of another stream", s.ResumesStream)
		}
		if s.ResumesList != 0 && !isList(s.ResumesList) {
			return v.bad(at, "resumesList", "the id of a list", s.ResumesList)
		}
	}
	return nil
}

func (v *validation) informers() error {
	for i := range v.history.Informers {
		informer := &v.history.Informers[i]
		at := place{kindInformer, i, fmt.Sprintf("informer %d", i+1)}
		switch {
		case informer.Client == "":
			return v.bad(at, "client", "the name of a client", "")
		case informer.Server == "":
			return v.bad(at, "server", "the name of a server", "")
		case informer.LastSyncRV < 0:
			return v.bad(at, "lastSyncRV", "a resourceVersion, or 0 for none", informer.LastSyncRV)
		}
		if err := v.objects(at, informer.Objects); err != nil {
			return err
		}
	}
	return nil
}

// censuses may be later than the end: a server is stopped after its clients. They
// may come in any order, and count servers that no client has asked anything.
func (v *validation) censuses() error {
	left := v.clientsLeft()
	for i := range v.history.Censuses {
		census := &v.history.Censuses[i]
		at := place{kindCensus, i, fmt.Sprintf("census %d", i+1)}
		switch census.Phase {
		case model.Serving, model.Left, model.Stopped:
		default:
			return v.bad(at, "phase", "serving, left or stopped", string(census.Phase))
		}
		switch {
		case census.Server == "":
			return v.bad(at, "server", "the name of a server", "")
		case census.Time < 0:
			return v.bad(at, "time", "a time from 0 on", census.Time)
		case census.Revision < 0:
			return v.bad(at, "revision", "etcd's revision, or 0 if it is unknown", census.Revision)
		case v.history.Truth.Revision > 0 && census.Revision > v.history.Truth.Revision:
			return v.bad(at, "revision", fmt.Sprintf("at most %d, the last revision that the end record names", v.history.Truth.Revision), census.Revision)
		case census.Phase == model.Serving && census.Time > left:
			return v.bad(at, "phase", fmt.Sprintf("left or stopped, as by another census all clients had left for good at %d", left), string(census.Phase))
		}
		for _, count := range []struct {
			field string
			got   int
		}{{"streams", census.Streams}, {"watchers", census.Watchers}, {"etcdWatches", census.EtcdWatches}, {"goroutines", census.Goroutines}} {
			if count.got < model.Uncounted {
				return v.bad(at, count.field, "a count, or -1 if it is unknown", count.got)
			}
		}
	}
	return nil
}

// clientsLeft returns when a census first says that all clients have left for
// good; later than any time if none says so.
func (v *validation) clientsLeft() int64 {
	left := int64(math.MaxInt64)
	for i := range v.history.Censuses {
		if census := &v.history.Censuses[i]; census.Phase == model.Left {
			left = min(left, census.Time)
		}
	}
	return left
}

func (v *validation) objects(at place, objects []model.Object) error {
	for i := range objects {
		if objects[i].RV < 0 {
			return v.bad(at, fmt.Sprintf("objects[%d].rv", i), "a resourceVersion, or 0 for none", objects[i].RV)
		}
	}
	return nil
}
