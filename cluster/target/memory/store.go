// Package memory is a correct store with a correct cache in a few hundred lines: it
// keeps every revision in memory, computes every read and watch from them, and lets
// watches start only from recent changes, as a watch cache does. It is neither a cacher
// nor a target; tests use it where they need an API that obeys the specification and
// reports the truth.
package memory

import (
	"fmt"
	"slices"
	"strings"
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
	// FutureWait is how long a request for a future RV waits for it.
	FutureWait time.Duration

	mu          sync.Mutex
	revision    int64
	compacted   int64
	cachedSince int64 // the cache contains at most the changes after this RV
	changes     []model.Change
	versions    map[string][]model.Change // by key, in order of RV
	keys        []string                  // all keys ever written, sorted
	compactions []model.Compaction
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
		FutureWait:     3 * time.Second,
		revision:       1,
		versions:       map[string][]model.Change{},
		wake:           make(chan struct{}),
		began:          time.Now(),
	}
}

// Truth returns everything that was committed.
func (s *Store) Truth() model.Truth {
	s.mu.Lock()
	defer s.mu.Unlock()
	return model.Truth{
		Changes:     slices.Clone(s.changes),
		Compactions: slices.Clone(s.compactions),
		Revision:    s.revision,
	}
}

// Compact discards the states before rv, or before the current revision if rv is in the
// future: exact lists and continue tokens from there expire. Watches are not affected,
// because they are served from the cache.
func (s *Store) Compact(rv int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rv = min(rv, s.revision); rv > s.compacted {
		s.compacted = rv
		s.compactions = append(s.compactions, model.Compaction{RV: rv, Time: int64(time.Since(s.began))})
	}
}

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
	s.cachedSince = s.revision
	s.breakLocked()
}

func (s *Store) breakLocked() {
	s.generation++
	s.wakeLocked()
}

// oldestLocked returns the lowest RV that a watch can start from.
func (s *Store) oldestLocked() int64 {
	if evicted := len(s.changes) - s.Window; evicted > 0 {
		return max(s.cachedSince, s.changes[evicted-1].RV)
	}
	return s.cachedSince
}

func (s *Store) wakeLocked() {
	close(s.wake)
	s.wake = make(chan struct{})
}

// commitLocked appends one change at the next revision.
func (s *Store) commitLocked(key string, object model.Object, deleted bool) int64 {
	s.revision++
	if !deleted {
		object.RV = s.revision
	}
	change := model.Change{RV: s.revision, Deleted: deleted, Object: object}
	s.changes = append(s.changes, change)
	if at, found := slices.BinarySearch(s.keys, key); !found {
		s.keys = slices.Insert(s.keys, at, key)
	}
	s.versions[key] = append(s.versions[key], change)
	s.wakeLocked()
	return s.revision
}

// atLocked returns the state of key at rv.
func (s *Store) atLocked(key string, rv int64) (model.Object, bool) {
	versions := s.versions[key]
	for i := len(versions) - 1; i >= 0; i-- {
		if versions[i].RV <= rv {
			return versions[i].Object, !versions[i].Deleted
		}
	}
	return model.Object{}, false
}

// stateLocked returns the matching objects at rv, in order of key, after the given key.
func (s *Store) stateLocked(rv int64, scope model.Scope, selector model.Selector, after string) []model.Object {
	var state []model.Object
	for _, key := range s.keys {
		if key <= after && after != "" {
			continue
		}
		if object, exists := s.atLocked(key, rv); exists && matches(object, scope, selector) {
			state = append(state, object)
		}
	}
	return state
}

func keyOf(namespace, name string) string { return namespace + "/" + name }

func matches(object model.Object, scope model.Scope, selector model.Selector) bool {
	if scope.Namespace != "" && scope.Namespace != object.Namespace ||
		scope.Name != "" && scope.Name != object.Name ||
		selector.Node != "" && selector.Node != object.Node {
		return false
	}
	for key, value := range selector.Labels {
		if object.Labels[key] != value {
			return false
		}
	}
	return true
}

// A continue token consists of the list's RV and the previous page's last key.
func encodeToken(rv int64, key string) string { return fmt.Sprintf("%d %s", rv, key) }

func decodeToken(token string) (rv int64, key string, err error) {
	number, key, found := strings.Cut(token, " ")
	if !found {
		return 0, "", fmt.Errorf("expected a continue token, found %q", token)
	}
	if _, err := fmt.Sscanf(number, "%d", &rv); err != nil {
		return 0, "", fmt.Errorf("expected a revision in a continue token, found %q", token)
	}
	return rv, key, nil
}
