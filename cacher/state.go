package cacher

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

// state is the state of the cache: the objects as of one RV, and the window of the events that led
// there. Only ingest changes it.
type state struct {
	mu sync.RWMutex

	readiness readiness
	// rv is the RV that the cache has reached. It is at or above the RV of the last change: the
	// storage also reports progress without changes.
	rv uint64
	// changed is the RV of the last change, or of the list if there was none since.
	changed   uint64
	tree      *tree
	log       *eventLog
	snapshots snapshots

	// advanced is closed and replaced when rv grows or the cache stops, if anybody waits for that.
	advanced chan struct{}
	waiting  int
}

func newState(clock clock.Clock, empty *tree, l limits) *state {
	return &state{
		readiness: newReadiness(clock),
		tree:      empty,
		log:       newEventLog(l),
		advanced:  make(chan struct{}),
	}
}

// replace begins a new generation of the cache with what a list returned at an RV.
func (s *state) replace(listed *tree, rv uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tree, s.rv, s.changed = listed, rv, rv
	s.log.reset(rv)
	s.snapshots.reset(rv)
	s.readiness.ready()
	s.advance()
}

// unready ends the generation, so that no watch begins in it any more.
func (s *state) unready(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readiness.pending(reason)
}

// stop makes every request fail from now on.
func (s *state) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readiness.stop()
	s.advance()
}

// apply applies one change. The RV of a change is above rv, or equal to that of the previous change
// if one transaction changed several keys. Anything else means that the storage went back in time:
// then what the cache has told its clients may never have existed, and it must reinitialise.
func (s *state) apply(e *event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.rv < s.rv || e.rv == s.rv && (e.rv != s.changed || s.isLast(e)) {
		return fmt.Errorf("expected a change above resourceVersion %d, found %s of %s at %d: the storage went back in time", s.rv, e.kind, e.key, e.rv)
	}
	if before := s.tree.get(e.key); before != nil {
		e.before = before
	}
	if e.kind == watch.Deleted {
		s.tree.remove(e.key)
	} else {
		s.tree.put(e.after)
	}
	s.log.add(e)
	s.rv, s.changed = e.rv, e.rv
	s.snapshots.outdated(s.log.floor)
	s.advance()
	return nil
}

// isLast reports whether the change is the last one applied, or there is none.
func (s *state) isLast(e *event) bool {
	return s.log.first == s.log.end || s.log.at(s.log.end-1).key == e.key
}

// progress notes that there is no further change up to an RV.
func (s *state) progress(rv uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rv > s.rv {
		s.rv = rv
		s.advance()
	}
}

func (s *state) advance() {
	if s.waiting > 0 {
		close(s.advanced)
		s.advanced = make(chan struct{})
	}
}

// usage returns the memory usage of the state.
func (s *state) usage() Usage {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return Usage{
		Objects:   s.tree.objects.Len(),
		Events:    int(s.log.end - s.log.first),
		Bytes:     s.log.bytes,
		Capacity:  len(s.log.ring),
		Snapshots: len(s.snapshots.kept),
	}
}

// get returns the current object of a key, nil if there is none, and the RV as of which that holds.
func (s *state) get(key string) (*element, uint64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.tree.get(key), s.rv
}

// read copies events into batch as eventLog.read does. If there are no more, rv is the RV that the
// reader has then reached, otherwise 0.
func (s *state) read(position uint64, batch []*event) (count int, rv uint64, held bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	count, held = s.log.read(position, batch)
	if held && position+uint64(count) == s.log.end {
		rv = s.rv
	}
	return count, rv, held
}

// undispatched is read for the dispatcher, which has dispatched everything before a
// position. It returns the position of the first event it read: a later one if the
// window was reset.
func (s *state) undispatched(position uint64, batch []*event) (from uint64, count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from = max(position, s.log.first)
	s.log.dispatched = from
	count, _ = s.log.read(from, batch)
	return from, count
}
