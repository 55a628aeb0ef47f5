package linearizability

import (
	"fmt"
	"sort"

	"github.com/watchsim/watchsim/model"
)

// selection is all transitions that streams with a scope and a selector are owed.
// Streams with the same query share one, so that a thousand of them cost no more
// memory than one.
type selection struct {
	owed []model.Transition
	// size is how many objects matched after each of owed.
	size []int
	// earliest is the earliest time at which each of owed can have been committed,
	// in simulated nanoseconds: see notBefore.
	earliest []int64
}

// maxSelected is how many transitions are cached for later streams, so that a history
// with a different query for each stream does not fill the memory; beyond it,
// selections are computed again.
const maxSelected = 4_000_000

// selections caches what streams are owed, by query.
type selections struct {
	facts *facts
	known map[string]*selection
	kept  int
}

// of returns what streams with a scope and a selector are owed.
func (all *selections) of(scope model.Scope, selector model.Selector) *selection {
	key := queryKey(scope, selector)
	if known := all.known[key]; known != nil {
		return known
	}
	if all.kept > maxSelected || all.known == nil {
		all.known, all.kept = map[string]*selection{}, 0
	}
	owed := all.facts.store.Owed(scope, selector, 0, all.facts.store.LastRV())
	s := &selection{owed: owed, size: make([]int, len(owed)), earliest: make([]int64, len(owed))}
	size := 0
	for i := range owed {
		switch owed[i].Type {
		case model.Added:
			size++
		case model.Deleted:
			size--
		}
		s.size[i], s.earliest[i] = size, all.facts.bounds.notBefore(owed[i].RV)
	}
	all.known[key] = s
	all.kept += len(owed)
	return s
}

// after returns the index of the first of owed above rv.
func (s *selection) after(rv int64) int {
	return sort.Search(len(s.owed), func(i int) bool { return s.owed[i].RV > rv })
}

// sizeAt returns how many objects matched at rv.
func (s *selection) sizeAt(rv int64) int {
	if i := s.after(rv); i > 0 {
		return s.size[i-1]
	}
	return 0
}

// count returns how many of owed are in (from, to].
func (s *selection) count(from, to int64) int { return max(0, s.after(to)-s.after(from)) }

// queryKey returns a key that is unique to a query, whatever its strings contain.
func queryKey(scope model.Scope, selector model.Selector) string {
	return fmt.Sprintf("%q %q %q", scope, selector.Node, selector.Labels) // fmt sorts the labels
}
