package linearizability

import (
	"cmp"
	"slices"
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
	sent, dispatched func() staircase
	// expired are the answers that an RV is no longer held.
	expired staircase
}

// stair says that from a time on something had reached an RV.
type stair struct {
	time, rv int64
	walk     *walk
	event    *model.Event // what brought the RV, nil for a refused stream
	// stream and op are who had asked for it, where there is no walk.
	stream *model.Stream
	op     *model.Operation
}

// staircase is in order of time and of RV.
type staircase []stair

// newStaircase sorts stairs and drops those that lead nowhere.
func newStaircase(stairs []stair) staircase {
	slices.SortStableFunc(stairs, func(a, b stair) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(b.rv, a.rv))
	})
	kept := stairs[:0]
	for _, s := range stairs {
		if len(kept) == 0 || s.rv > kept[len(kept)-1].rv {
			kept = append(kept, s)
		}
	}
	return staircase(kept)
}

// before returns the highest stair strictly before a time, false if there is none.
func (s staircase) before(time int64) (stair, bool) {
	i, _ := slices.BinarySearchFunc(s, time, func(s stair, time int64) int { return cmp.Compare(s.time, time) })
	if i == 0 {
		return stair{}, false
	}
	return s[i-1], true
}

// gatherEvidence sorts the walks by server.
func gatherEvidence(f *facts) map[string]*evidence {
	all := map[string]*evidence{}
	refusals := map[string][]stair{}
	for _, w := range f.walks {
		s := w.stream
		e := all[s.Server]
		if e == nil {
			e = &evidence{facts: f}
			e.sent = sync.OnceValue(func() staircase { return e.collect(func(*walk) int64 { return 0 }) })
			e.dispatched = sync.OnceValue(func() staircase {
				return e.collect(func(w *walk) int64 { return f.bounds.atMost(w.stream.Return) })
			})
			all[s.Server] = e
		}
		switch refusalOf(s) {
		case model.OK:
			if s.Return != model.Pending && !mayBypassCache(s) {
				e.begun = append(e.begun, w)
			}
		case model.Expired:
			if !hasBlock(s) {
				refusals[s.Server] = append(refusals[s.Server], stair{time: answeredAt(s), rv: s.RV, walk: w})
			}
		}
	}
	for server, e := range all {
		e.expired = newStaircase(refusals[server])
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
	i, _ := slices.BinarySearchFunc(e.begun, from, func(w *walk, time int64) int { return cmp.Compare(w.stream.Return, time) })
	if i == 0 {
		return nil
	}
	if w := e.furthest[i-1]; newestRV(w) > e.facts.bounds.atMost(to) {
		return w
	}
	return nil
}

// collect builds the staircase of the changes above an RV that each stream has a
// say in.
func (e *evidence) collect(above func(*walk) int64) staircase {
	stairs := []stair{}
	for _, w := range e.begun {
		highest := above(w)
		for i := range w.stream.Events {
			event := &w.stream.Events[i]
			if event.Type != model.Error && event.RV > highest && event.RV <= e.facts.bounds.atMost(event.Time) {
				highest = event.RV
				stairs = append(stairs, stair{time: event.Time, rv: event.RV, walk: w, event: event})
			}
		}
	}
	return newStaircase(stairs)
}
