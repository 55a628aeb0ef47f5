package linearizability

import (
	"slices"

	"github.com/watchsim/watchsim/model"
)

// The names in histories of the faults after which an API server starts with an empty
// cache.
const (
	serverRestart = "apiserver-restart"
	serverCrash   = "apiserver-crash"
)

// judgeAnswers judges Expired and TooLarge: requests that were refused, and requests
// that were served but had to be refused. The consequence of the latter is often
// reported as well: a gap in the stream, or a list that is older than requested.
func judgeAnswers(f *facts, out *findings) {
	out.add(&f.refusals)
	for _, w := range f.walks {
		s := w.stream
		if s.Err != model.OK || s.Refusal() != model.OK || len(s.Events) == 0 {
			continue
		}
		if !s.Watch().HasBlock() && !f.cached {
			continue // only etcd refuses, what it has compacted: there is no window
		}
		if !s.Watch().HasBlock() {
			w.judgeNotExpired(out)
		} else if latest := f.bounds.maxRV(s.Events[0].Time); s.RV > latest {
			// A watch without initial events may start in the future: it waits.
			out.violate(TooLarge, servedFuture, w.at(0, s.RV).want(latest))
		}
	}
	for op := range model.Each(f.history.Operations) {
		if (op.Kind != model.Get && op.Kind != model.List) || op.Lost() || (op.Err != model.OK && op.Err != model.NotFound) {
			continue
		}
		if latest := f.bounds.maxRV(op.Return); op.RV > latest {
			out.violate(TooLarge, servedFuture, about(op, op.RV).want(latest))
		}
	}
}

// judgeNotExpired judges a watch that was served from its RV. The RV was certainly no
// longer available if the server had said so before, because a cache never holds again
// what it has dropped, or if the server has restarted since. If neither is known the
// rule reports nothing: how far back a cache reaches is not specified, and changes
// that it no longer held show as a gap.
func (w *walk) judgeNotExpired(out *findings) {
	s, f := w.stream, w.facts
	if refused, ok := f.witnesses[s.Server].expired.Before(s.Call); ok && s.RV <= refused.RV {
		out.violate(Expired, servedRefused, w.at(0, s.RV, refused.RV).proof(refused.Stream, nil))
		return
	}
	// A new cache holds nothing below its first list, which is not older than etcd's revision
	// when the old cache stopped.
	restarted := model.Moment{}
	for fault := range model.Each(f.history.Faults) {
		if fault.Name != serverRestart && fault.Name != serverCrash {
			continue
		}
		if rv, _ := f.bounds.minRV(fault.Begin); rv > restarted.RV && fault.End < s.Call && slices.Contains(fault.Processes, s.Server) {
			restarted = model.Moment{Time: fault.End, RV: rv}
		}
	}
	if s.RV < restarted.RV {
		out.violate(Expired, servedOverRestart, w.at(0, s.RV, restarted.RV).want(restarted.RV).at(restarted.Time))
	}
}
