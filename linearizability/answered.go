package linearizability

import (
	"time"

	"github.com/watchsim/watchsim/model"
)

// answerBound is how long a response or an event may take while nothing is wrong: ten messages over a
// network that takes at most 200 ms for each. A request needs about that many: to connect,
// from the API server to etcd, from a member to its leader, and from that to the others. It
// is below the 3 s after which an API server stops waiting.
const answerBound = 2 * time.Second

// reachBound is how long a server waits for an RV that it has not reached: 3 s in
// Kubernetes' cacher (blockTimeout).
const reachBound = 3 * time.Second

// judgeAnswered judges Answered: while nothing is wrong, each request is answered in
// time, and neither fails nor is rejected, and a watch whose first event already exists
// receives it in time.
//
// A request for an RV that etcd may not have reached when it was called may wait for that
// RV, and be refused as too large.
func judgeAnswered(f *facts, out *findings) {
	for op := range model.Each(f.history.Operations) {
		f.judgeAnswer(about(op), request{op.Call, op.Return, op.RV, op.Err, op.Answer}, out)
	}
	for _, w := range f.walks {
		s := w.stream
		f.judgeAnswer(onStream(s), request{s.Call, s.Return, s.RV, s.Err, s.Answer}, out)
		w.judgeFirstEvent(out)
		w.judgeErrorEvents(out)
	}
}

// judgeErrorEvents judges the ERROR events with which a server gives up a stream.
func (w *walk) judgeErrorEvents(out *findings) {
	for event := range model.Each(w.stream.Events) {
		if event.Answer == "" || event.Answer == model.InternalError || !w.facts.calm.during(w.stream.Client, w.stream.Server, event.Time-answerBound.Nanoseconds(), event.Time) {
			continue
		}
		out.violate(Answered, answeredFailure, onStream(w.stream).showing(event))
	}
}

// request has what operations and requests for watches have in common.
type request struct {
	call, returned, rv int64
	err                model.Code
	answer             model.Answer
}

// failed reports whether the server rejected the request or failed. If there was no
// response, the client may have given up, or used a connection that an earlier fault broke.
// Internal errors are judged for InternalError.
func (r request) failed() bool {
	switch r.err {
	case model.Unknown:
		return r.answer == model.StoreError || r.answer == model.TimedOut
	case model.Unavailable, model.TooMany:
		return true
	}
	return false
}

func (f *facts) judgeAnswer(witness Witness, r request, out *findings) {
	reached, _ := f.bounds.minRV(r.call)
	mayWait := r.rv > reached
	bound := answerBound.Nanoseconds()
	if mayWait {
		bound += reachBound.Nanoseconds()
	}
	answered := r.returned
	if answered == model.Pending {
		answered = f.history.End
	}
	// A fault after the deadline does not excuse a late response.
	if !f.calm.during(witness.Client, witness.Server(), r.call, min(answered, r.call+bound)) {
		return
	}
	out.judged.Answered++
	if !mayWait {
		out.took(Answered, answered-r.call, bound)
	}
	witness = witness.got(answered - r.call).want(bound)
	switch {
	case answered-r.call > bound && r.returned == model.Pending:
		out.violate(Answered, notAnswered, witness)
	case answered-r.call > bound:
		out.violate(Answered, answeredLate, witness)
	case r.failed() || r.err == model.TooLarge && !mayWait:
		out.violate(Answered, answeredFailure, witness)
	}
}

// judgeFirstEvent judges the stream of a fast consumer. Its first event is a change that was
// committed before the watch was called, or the bookmark that ends the initial events.
func (w *walk) judgeFirstEvent(out *findings) {
	s, f := w.stream, w.facts
	if s.Err != model.OK || s.Return == model.Pending || s.Consumer != fastConsumer {
		return
	}
	reached, _ := f.bounds.minRV(s.Call)
	if !s.Watch().MustMark() && (s.Watch().HasBlock() || w.selection.count(s.RV, reached) == 0) || s.RV > reached {
		return
	}
	due := s.Return + answerBound.Nanoseconds()
	came := f.history.End
	switch {
	case len(s.Events) > 0:
		came = s.Events[0].Time
	case s.Closed != model.Pending:
		return // Closed judges why it ended
	}
	if !f.calm.during(s.Client, s.Server, s.Call, min(came, due)) {
		return
	}
	out.judged.Answered++
	out.took(Answered, came-s.Return, due-s.Return)
	if came > due {
		out.violate(Answered, firstEventLate, onStream(s).got(came-s.Return).want(due-s.Return))
	}
}
