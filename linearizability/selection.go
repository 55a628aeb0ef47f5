package linearizability

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/watchsim/watchsim/model"
)

// selection is everything that a scope and a selector are ever owed. Streams
// that ask for the same share one, so that a thousand of them cost no more
// memory than one.
type selection struct {
	owed []model.Transition
	// size is how many objects matched after each of owed.
	size []int
	// earliest is when each of owed can have been committed at the earliest, in
	// simulated nanoseconds: all that is called later has a higher RV.
	earliest []int64
}

// selectedMost is how many transitions are kept for streams to come. A history
// in which everybody selects something else must not fill the memory; beyond
// this, selections are computed again.
const selectedMost = 4_000_000

// selectionOf returns what a scope and a selector are owed.
func (c *checker) selectionOf(scope model.Scope, selector model.Selector) *selection {
	key := queryKey(scope, selector)
	if known := c.selections[key]; known != nil {
		return known
	}
	if c.selected > selectedMost || c.selections == nil {
		c.selections, c.selected = map[string]*selection{}, 0
	}
	owed := c.store.Owed(scope, selector, 0, c.store.LastRV())
	s := &selection{owed: owed, size: make([]int, len(owed)), earliest: make([]int64, len(owed))}
	size, calls := 0, 0
	for i := range owed {
		switch owed[i].Type {
		case model.Added:
			size++
		case model.Deleted:
			size--
		}
		for calls < len(c.bounds.calls) && c.bounds.calls[calls].rv <= owed[i].RV {
			calls++
		}
		if s.size[i] = size; calls > 0 {
			s.earliest[i] = c.bounds.calls[calls-1].time
		}
	}
	c.selections[key] = s
	c.selected += len(owed)
	return s
}

// after returns the index of the first of owed above rv.
func (s *selection) after(rv int64) int {
	i, exact := slices.BinarySearchFunc(s.owed, rv, func(t model.Transition, rv int64) int { return cmp.Compare(t.RV, rv) })
	if exact {
		i++
	}
	return i
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

// queryKey tells two queries apart, whatever their strings hold.
func queryKey(scope model.Scope, selector model.Selector) string {
	var key strings.Builder
	add := func(text string) { key.WriteString(strconv.Quote(text)) }
	add(scope.Namespace)
	add(scope.Name)
	add(selector.Node)
	for _, name := range slices.Sorted(maps.Keys(selector.Labels)) {
		add(name)
		add(selector.Labels[name])
	}
	return key.String()
}
