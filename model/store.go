package model

import (
	"math"
	"slices"
	"sort"
)

// Forever is the Until of a version that was never superseded.
const Forever int64 = math.MaxInt64

// Version is the state of an object after one change. It is current at every revision
// in [RV, Until).
type Version struct {
	RV    int64
	Until int64
	// Object carries RV as its own; nil if the change was a deletion.
	Object *Object
	// Expired says that the change was a deletion by etcd itself.
	Expired bool
}

// Store is the content of a resource at every revision of etcd's history. It is
// immutable and safe for concurrent use.
//
// Building one is linear in the number of changes, apart from sorting the keys.
type Store struct {
	steps    []step
	keys     []Key
	versions map[Key][]Version
	// ordered are the versions of each of keys.
	ordered [][]Version
	// parts are the steps of each namespace and of each object within one, in
	// order: indices into steps.
	parts map[Scope][]int32
}

// step is one change, with what a watch needs to know about it.
type step struct {
	rv   int64
	key  Key
	prev *Object // nil if the object did not exist
	next *Object // nil if the change is a deletion
	last *Object // prev at rv, as a DELETED event carries it; nil if prev is
}

// InOrder reports whether each of the changes may follow the one before, up to the last revision at
// most. If not, the truth says nothing.
func (t *Truth) InOrder() bool {
	last := &Change{}
	for change := range Each(t.Changes) {
		if !change.Follows(last) || change.RV > t.Revision {
			return false
		}
		last = change
	}
	return true
}

// Follows reports whether a change may come after another one in etcd's log: its revision is higher, or one lease has expired for both objects.
func (c *Change) Follows(before *Change) bool {
	return c.RV > before.RV || c.RV == before.RV && c.Expired && before.Expired
}

// NewStore builds the store by applying the truth's changes in order to an empty
// one. Each change must follow the one before ([Change.Follows]).
//
// The RV of a stored object is that of its change, whatever Change.Object.RV
// says, and the last state of a deleted object is that of the change before the
// deletion.
func NewStore(truth *Truth) *Store {
	s := &Store{
		steps:    make([]step, 0, len(truth.Changes)),
		versions: make(map[Key][]Version),
		parts:    make(map[Scope][]int32),
	}
	// The store has pointers into objects, so it must never be reallocated: each
	// change adds at most two.
	objects := make([]Object, 0, 2*len(truth.Changes))
	at := func(o *Object, rv int64) *Object {
		objects = append(objects, *o)
		objects[len(objects)-1].RV = rv
		return &objects[len(objects)-1]
	}
	for i := range truth.Changes {
		change := &truth.Changes[i]
		current := step{rv: change.RV, key: change.Object.Key()}
		versions, known := s.versions[current.key]
		if !known {
			s.keys = append(s.keys, current.key)
		} else {
			before := &versions[len(versions)-1]
			before.Until = change.RV
			current.prev = before.Object
		}
		if current.prev != nil {
			current.last = at(current.prev, change.RV)
		}
		if !change.Deleted {
			current.next = at(&change.Object, change.RV)
		}
		if current.key.Namespace != "" {
			for _, part := range [...]Scope{{Namespace: current.key.Namespace}, Scope(current.key)} {
				s.parts[part] = append(s.parts[part], int32(i))
			}
		}
		s.steps = append(s.steps, current)
		s.versions[current.key] = append(versions, Version{RV: change.RV, Until: Forever, Object: current.next, Expired: change.Expired})
	}
	slices.SortFunc(s.keys, Key.Compare)
	s.ordered = make([][]Version, len(s.keys))
	for i, key := range s.keys {
		s.ordered[i] = s.versions[key]
	}
	return s
}

// Keys returns every key that ever existed, in etcd's order.
func (s *Store) Keys() []Key { return s.keys }

// Versions returns all versions of an object in order of RV, deletions included.
func (s *Store) Versions(key Key) []Version { return s.versions[key] }

// VersionAt returns the version of an object that was current at rv, which may
// be a deletion; false if nothing had ever been written under key by then.
func (s *Store) VersionAt(key Key, rv int64) (Version, bool) {
	return versionAt(s.versions[key], rv)
}

func versionAt(versions []Version, rv int64) (Version, bool) {
	after := sort.Search(len(versions), func(i int) bool { return versions[i].RV > rv })
	if after == 0 {
		return Version{}, false
	}
	return versions[after-1], true
}

// Object returns the object stored under key at rv, nil if there was none.
func (s *Store) Object(key Key, rv int64) *Object {
	version, _ := s.VersionAt(key, rv)
	return version.Object
}

// List returns the objects within scope that matched the selector at rv, in
// etcd's order of keys.
func (s *Store) List(scope Scope, selector Selector, rv int64) []*Object {
	var objects []*Object
	for i, end := s.keysWithin(scope); i < end; i++ {
		if version, _ := versionAt(s.ordered[i], rv); selector.Matches(version.Object) && scope.Contains(s.keys[i]) {
			objects = append(objects, version.Object)
		}
	}
	return objects
}

// keysWithin returns a range of keys that contains all those within scope. The keys of
// a namespace are adjacent, as they share a prefix.
func (s *Store) keysWithin(scope Scope) (first, end int) {
	if scope.Namespace == "" {
		return 0, len(s.keys)
	}
	first, exact := slices.BinarySearchFunc(s.keys, Key(scope), Key.Compare)
	if scope.Name != "" {
		if exact {
			return first, first + 1
		}
		return first, first
	}
	for end = first; end < len(s.keys) && s.keys[end].Namespace == scope.Namespace; end++ {
	}
	return first, end
}

// KeyOf returns the key of the object that the change at rv changed, false if
// none was changed at that revision.
func (s *Store) KeyOf(rv int64) (Key, bool) {
	i := s.after(rv - 1)
	if i == len(s.steps) || s.steps[i].rv != rv {
		return Key{}, false
	}
	return s.steps[i].key, true
}

// CountChanges returns how many changes have an RV in (from, to].
func (s *Store) CountChanges(from, to int64) int { return max(0, s.after(to)-s.after(from)) }

// LastRV returns the RV of the last change, 0 if there is none.
func (s *Store) LastRV() int64 {
	if len(s.steps) == 0 {
		return 0
	}
	return s.steps[len(s.steps)-1].rv
}

// after returns the index of the first step with an RV above rv.
func (s *Store) after(rv int64) int {
	return sort.Search(len(s.steps), func(i int) bool { return s.steps[i].rv > rv })
}
