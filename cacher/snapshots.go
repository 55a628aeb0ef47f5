package cacher

import (
	"math"
	"slices"
	"sort"

	"k8s.io/apimachinery/pkg/watch"
)

// maxSnapshots is how many snapshots are kept. Other states are derived from the next newer one.
const maxSnapshots = 256

// snapshot is the objects as of the change at rv, valid until the next change.
type snapshot struct {
	rv   uint64
	tree *tree
}

// snapshots are the states that were read, oldest first. None is made for events that nobody reads:
// the log has the state before each event, so an older state can be derived from a newer one.
type snapshots struct {
	kept []snapshot
	// from is the RV at and above which states may be served.
	from uint64
	// disabled says that past states are not served, as the cache was found to differ from its
	// storage.
	disabled bool
}

func (s *snapshots) reset(rv uint64) {
	s.kept, s.from = nil, rv
}

// outdated drops snapshots below an RV.
func (s *snapshots) outdated(floor uint64) {
	if floor > s.from {
		s.from = floor
	}
	drop := 0
	for drop < len(s.kept) && s.kept[drop].rv < s.from {
		drop++
	}
	s.kept = slices.Delete(s.kept, 0, drop)
}

// keep inserts a snapshot in order.
func (s *snapshots) keep(taken snapshot) {
	place := sort.Search(len(s.kept), func(i int) bool { return s.kept[i].rv >= taken.rv })
	if place < len(s.kept) && s.kept[place].rv == taken.rv {
		return
	}
	s.kept = slices.Insert(s.kept, place, taken)
	if len(s.kept) > maxSnapshots {
		s.kept = slices.Delete(s.kept, 0, 1)
	}
}

// latest returns the current objects, and their RV.
func (s *state) latest() (*tree, uint64) {
	s.mu.RLock()
	rv := s.rv
	kept, found := s.keptLatest()
	s.mu.RUnlock()
	if found {
		return kept, rv
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latestLocked(), s.rv
}

func (s *state) keptLatest() (*tree, bool) {
	kept := s.snapshots.kept
	if len(kept) > 0 && kept[len(kept)-1].rv == s.changed {
		return kept[len(kept)-1].tree, true
	}
	return nil, false
}

func (s *state) latestLocked() *tree {
	if kept, found := s.keptLatest(); found {
		return kept
	}
	taken := snapshot{rv: s.changed, tree: s.tree.clone()}
	s.snapshots.keep(taken)
	return taken.tree
}

// canServe reports whether the objects as of an RV that has been reached are available.
func (s *state) canServe(rv uint64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.canServeLocked(rv)
}

func (s *state) canServeLocked(rv uint64) bool {
	return !s.snapshots.disabled && rv >= s.snapshots.from && rv >= s.log.floor && rv <= s.rv
}

// at returns the objects as of an RV, and false if they are not available.
func (s *state) at(rv uint64) (*tree, bool) {
	s.mu.Lock()
	if !s.canServeLocked(rv) {
		s.mu.Unlock()
		return nil, false
	}
	s.latestLocked()
	// The base is the oldest snapshot that includes that state; undo are the events that it has
	// beyond it.
	kept := s.snapshots.kept
	position, _ := s.log.after(rv)
	wanted := s.log.floor // the RV of the last change that the state has
	if position > s.log.first {
		wanted = s.log.at(position - 1).rv
	}
	base := kept[sort.Search(len(kept)-1, func(i int) bool { return kept[i].rv >= wanted })]
	var undo []*event
	for p := position; p < s.log.end && s.log.at(p).rv <= base.rv; p++ {
		undo = append(undo, s.log.at(p))
	}
	if len(undo) == 0 {
		s.mu.Unlock()
		return base.tree, true
	}
	state := base.tree.clone()
	generation := s.readiness.generation
	s.mu.Unlock()

	for _, e := range slices.Backward(undo) {
		if e.before != nil {
			state.put(e.before)
		} else if e.kind != watch.Deleted {
			state.remove(e.key)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if generation == s.readiness.generation {
		s.snapshots.keep(snapshot{rv: wanted, tree: state})
		s.snapshots.outdated(s.log.floor)
	}
	return state, true
}

// compact discards the states below an RV: the storage no longer has them either.
func (s *state) compact(rv uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshots.outdated(rv)
}

// markConsistent says whether the cache was found to agree with its storage. If not, only the
// newest state is served until it does, and then no state from before.
func (s *state) markConsistent(consistent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !consistent:
		s.snapshots.disabled = true
		s.snapshots.reset(math.MaxUint64)
	case s.snapshots.disabled:
		s.snapshots.disabled = false
		s.snapshots.reset(s.rv)
	}
}

// reached reports whether the cache has reached an RV.
func (s *state) reached(rv uint64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return rv <= s.rv
}

// servesPast reports whether states other than the newest are served.
func (s *state) servesPast() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return !s.snapshots.disabled
}
