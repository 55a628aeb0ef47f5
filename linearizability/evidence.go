package linearizability

import (
	"cmp"
	"slices"
	"sort"
	"sync"

	"github.com/watchsim/watchsim/model"
)

// evidence is what the streams of one server together prove about its cache. A
// cache feeds all its streams from one sequence of changes, and ends all of them
// when it stops or relists.
type evidence struct {
	facts *facts
	// begun are the streams that the cache certainly served, by Return. furthest[i]
	// is the stream among begun[:i+1] that received the newest event.
	begun, furthest []*walk
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
		slices.SortStableFunc(e.begun, func(a, b *walk) int { return cmp.Compare(a.stream.Return, b.stream.Return) })
		e.furthest = slices.Clone(e.begun)
		for i := 1; i < len(e.furthest); i++ {
			if newestRV(e.furthest[i]) <= newestRV(e.furthest[i-1]) {
				e.furthest[i] = e.furthest[i-1]
			}
		}
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
// between two times: it began before the first, and delivered a change that was
// committed after the second. It returns nil if there is none.
func (e *evidence) survivor(from, to int64) *walk {
	i := sort.Search(len(e.begun), func(i int) bool { return e.begun[i].stream.Return >= from })
	if i == 0 {
		return nil
	}
	if w := e.furthest[i-1]; newestRV(w) > e.facts.bounds.maxRV(to) {
		return w
	}
	return nil
}

// collect builds the staircase of the changes that streams delivered above an RV,
// which depends on the stream.
func (e *evidence) collect(above func(*walk) int64) model.Staircase {
	var moments []model.Moment
	for _, w := range e.begun {
		highest := above(w)
		for event := range model.Each(w.stream.Events) {
			if event.Type != model.Error && event.RV > highest && event.RV <= e.facts.bounds.maxRV(event.Time) {
				highest = event.RV
				moments = append(moments, model.Moment{Time: event.Time, RV: event.RV, Stream: w.stream, Event: event})
			}
		}
	}
	return model.NewStaircase(moments)
}
