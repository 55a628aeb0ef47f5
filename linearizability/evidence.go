package linearizability

import (
	"cmp"
	"slices"
	"sort"
	"sync"

	"github.com/watchsim/watchsim/model"
)

// evidence is what the streams of one server witness together about its cache.
// A cache keeps all its streams fed from one sequence of changes, and ends all
// of them when it stops or lists again.
type evidence struct {
	facts *facts
	// begun are the streams that certainly reached the cache, by Return; of
	// furthest, each is the one among begun up to there that got the newest event.
	begun, furthest []*walk
	// sent is the newest change that the server had sent to anyone by a time.
	// dispatched are those among them that had reached streams which were open when
	// they were committed: everything up to such a change had been handed to all
	// streams of the server. Few histories need either.
	sent, dispatched func() model.Staircase
	// expired are the answers that an RV is no longer held.
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
// pass on watches that name no resourceVersion, unless they ask for initial events.
func mayBypassCache(s *model.Stream) bool { return s.RV == model.RVUnset && !s.InitialEvents }

// newestRV returns the RV of the newest change that a stream brought after its
// start, 0 if it brought none.
func newestRV(w *walk) int64 {
	if w.newest == nil {
		return 0
	}
	return w.newest.RV
}

// survivor returns a stream that shows that the cache neither stopped nor listed
// again between two times: it began before the first, and brought a change that
// was committed after the second. It is nil if there is none.
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

// collect builds the staircase of the changes above an RV that each stream has a
// say in.
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
