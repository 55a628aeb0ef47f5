package linearizability

import (
	"math"
	"sync"

	"github.com/watchsim/watchsim/model"
)

// evidence is what the streams of one server together prove about its cache. A
// cache feeds all its streams from one sequence of changes, and ends all of them
// when it stops or relists.
type evidence struct {
	facts *facts
	// begun are the streams that the cache certainly served.
	begun []*walk
	// sent is the newest change that the server had sent to anyone by a time.
	// dispatched counts only changes that reached streams which were open when they
	// were committed: everything up to such a change had been dispatched to all
	// streams of the server. Few histories need either.
	sent, dispatched func() model.Staircase
	// expired are the responses that an RV is no longer available.
	expired model.Staircase
}

// gatherEvidence sorts the walks by server.
func gatherEvidence(f *facts) map[string]*evidence {
	all := map[string]*evidence{}
	for _, w := range f.walks {
		s := w.stream
		e := all[s.Server]
		if e == nil {
			e = &evidence{facts: f}
			e.sent = sync.OnceValue(func() model.Staircase { return e.collect(func(*walk) int64 { return 0 }) })
			e.dispatched = sync.OnceValue(func() model.Staircase {
				return e.collect(func(w *walk) int64 { return f.bounds.maxRV(w.stream.Return) })
			})
			all[s.Server] = e
		}
		switch s.Refusal() {
		case model.OK:
			if s.Return != model.Pending && !mayBypassCache(s) {
				e.begun = append(e.begun, w)
			}
		case model.Expired:
			if !s.Watch().HasBlock() {
				e.expired = append(e.expired, model.Moment{Time: answeredAt(s), RV: s.RV, Stream: s})
			}
		}
	}
	for _, e := range all {
		e.expired = model.NewStaircase(e.expired)
	}
	return all
}

// mayBypassCache reports whether a stream may be served from etcd: some caches
// forward watches without a resourceVersion, unless they request initial events.
func mayBypassCache(s *model.Stream) bool { return s.RV == model.RVUnset && !s.InitialEvents }

// newestRV returns the RV of the newest change that a stream delivered after its
// start, 0 if it delivered none.
func newestRV(w *walk) int64 {
	if w.newest == nil {
		return 0
	}
	return w.newest.RV
}

// survivor returns a stream which proves that the cache neither stopped nor relisted
// between two times, because it ends all its streams then: the stream began before the first,
// and delivered a change that was committed after the second. Of several for which holds is
// true it returns the one with the newest change, and nil if there is none.
func (e *evidence) survivor(from, to int64, holds func(*walk) bool) *walk {
	var furthest *walk
	reached := e.facts.bounds.maxRV(to)
	for _, w := range e.begun {
		if w.stream.Return < from && newestRV(w) > reached && holds(w) {
			furthest, reached = w, newestRV(w)
		}
	}
	return furthest
}

// collect builds the staircase of the changes that streams delivered above an RV,
// which depends on the stream.
func (e *evidence) collect(above func(*walk) int64) model.Staircase {
	var moments []model.Moment
	for _, w := range e.begun {
		moments = append(moments, w.sights(above(w), math.MaxInt64)...)
	}
	return model.NewStaircase(moments)
}

// sights returns when a stream delivered an RV above all before and above the given one, up to
// a time. What cannot have been committed by then proves nothing, and other rules report it.
func (w *walk) sights(highest, until int64) (moments []model.Moment) {
	for event := range model.Each(w.stream.Events) {
		if event.Type != model.Error && event.RV > highest && event.Time < until && event.RV <= w.facts.bounds.maxRV(event.Time) {
			highest = event.RV
			moments = append(moments, model.Moment{Time: event.Time, RV: event.RV, Stream: w.stream, Event: event})
		}
	}
	return moments
}
