// Package memory is a correct store with a correct cache: it keeps every change in memory, answers
// every read and watch from them as package model defines, and lets watches start only from recent
// changes, as a watch cache does. It is neither a cacher nor a target; tests use it as an API that
// obeys the specification and reports the truth.
package memory

import (
	"slices"
	"sync"
	"time"

	"github.com/watchsim/watchsim/model"
)

// Store is a multi-version store of objects. Use [New] to create one. The lock guards
// all fields; wake is closed and replaced whenever a watch may have new events.
type Store struct {
	// BookmarkPeriod is the interval of bookmarks on idle watches.
	BookmarkPeriod time.Duration
	// Window is how many of the last changes a watch can start from.
	Window int

	mu          sync.Mutex
	truth       model.Truth
	view        *model.Store // of the truth, nil if it has changed since
	cachedSince int64        // the cache contains at most the changes after this RV
	shares      bool
	generation  int // streams of earlier generations are broken
	wake        chan struct{}
	began       time.Time
}

// New returns an empty store at revision 1, like a new etcd.
func New() *Store {
	return &Store{
		BookmarkPeriod: time.Second,
		Window:         100,
		truth:          model.Truth{Revision: 1},
		wake:           make(chan struct{}),
		began:          time.Now(),
	}
}

// Truth returns everything that was committed.
func (s *Store) Truth() model.Truth {
	s.mu.Lock()
	defer s.mu.Unlock()
	truth := s.truth
	truth.Changes, truth.Compactions = slices.Clone(truth.Changes), slices.Clone(truth.Compactions)
	return truth
}

// Compact discards the states before rv, or before the current revision if rv is in the
// future: exact lists and continue tokens from there expire. Watches are not affected,
// because they are served from the cache.
func (s *Store) Compact(rv int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rv = min(rv, s.truth.Revision); rv > s.compactedLocked() {
		s.truth.Compactions = append(s.truth.Compactions, model.Compaction{RV: rv, Time: int64(time.Since(s.began))})
	}
}

func (s *Store) compactedLocked() int64 { return s.truth.CompactedBy(int64(time.Since(s.began))) }

// Share makes watches deliver the store's own objects instead of copies, a bug that
// tests use to check detection.
func (s *Store) Share() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shares = true
}

// BreakStreams ends all open streams as a lost connection does.
func (s *Store) BreakStreams() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breakLocked()
}

// Reinitialise makes the cache discard its changes and relist, which also ends all open
// streams.
func (s *Store) Reinitialise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cachedSince = s.truth.Revision
	s.breakLocked()
}

func (s *Store) breakLocked() {
	s.generation++
	s.wakeLocked()
}

// oldestLocked returns the lowest RV that a watch can start from.
func (s *Store) oldestLocked() int64 {
	if evicted := len(s.truth.Changes) - s.Window; evicted > 0 {
		return max(s.cachedSince, s.truth.Changes[evicted-1].RV)
	}
	return s.cachedSince
}

func (s *Store) wakeLocked() {
	close(s.wake)
	s.wake = make(chan struct{})
}

// commitLocked appends one change at the next revision.
func (s *Store) commitLocked(object model.Object, deleted bool) int64 {
	s.truth.Revision++
	if !deleted {
		object.RV = s.truth.Revision
	}
	s.truth.Changes = append(s.truth.Changes, model.Change{RV: s.truth.Revision, Deleted: deleted, Object: object})
	s.view = nil
	s.wakeLocked()
	return s.truth.Revision
}

func (s *Store) viewLocked() *model.Store {
	if s.view == nil {
		s.view = model.NewStore(&s.truth)
	}
	return s.view
}
