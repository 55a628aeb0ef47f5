package model

import (
	"iter"
	"slices"
)

// Contains reports whether an object with this key is within the scope.
func (s Scope) Contains(key Key) bool {
	return (s.Namespace == "" || s.Namespace == key.Namespace) && (s.Name == "" || s.Name == key.Name)
}

// Empty reports whether the selector matches everything.
func (s Selector) Empty() bool { return len(s.Labels) == 0 && s.Node == "" }

// Matches reports whether the object satisfies every condition of the selector. A nil
// object matches no selector.
func (s Selector) Matches(object *Object) bool {
	if object == nil || (s.Node != "" && s.Node != object.Node) {
		return false
	}
	for name, value := range s.Labels {
		if got, ok := object.Labels[name]; !ok || got != value {
			return false
		}
	}
	return true
}

// Transition is one event that a watch is owed, other than initial events.
type Transition struct {
	Type EventType
	// RV is the revision of the change.
	RV int64
	// Object is what the event carries. Its RV is always the transition's.
	Object *Object
}

// Owed returns the events that a watch over scope and selector is owed for the changes
// in (from, to], in order.
//
// The type of an event depends on whether the object matches the selector before
// and after the change, not on the kind of write: an update is ADDED if the object
// starts to match, and DELETED if it no longer matches. A DELETED event carries the
// last state that matched, with the RV of the change.
func (s *Store) Owed(scope Scope, selector Selector, from, to int64) []Transition {
	var owed []Transition
	for i := range s.stepsWithin(scope, from, to) {
		if t, matters := s.steps[i].transition(scope, selector); matters {
			owed = append(owed, t)
		}
	}
	return owed
}

// NextOwed returns the first event that a watch over scope and selector is owed
// after the given RV; false if there is none.
func (s *Store) NextOwed(scope Scope, selector Selector, after int64) (Transition, bool) {
	for i := range s.stepsWithin(scope, after, s.LastRV()) {
		if t, matters := s.steps[i].transition(scope, selector); matters {
			return t, true
		}
	}
	return Transition{}, false
}

// stepsWithin yields steps with an RV in (from, to], including all those within
// scope.
func (s *Store) stepsWithin(scope Scope, from, to int64) iter.Seq[int] {
	first, end := s.after(from), s.after(to)
	return func(yield func(int) bool) {
		if scope.Namespace == "" {
			for i := first; i < end && yield(i); i++ {
			}
			return
		}
		part := s.parts[scope]
		next, _ := slices.BinarySearch(part, int32(first))
		for ; next < len(part) && int(part[next]) < end && yield(int(part[next])); next++ {
		}
	}
}

// transition returns the event that a watch over scope and selector receives for a
// change; false if it receives none.
func (st *step) transition(scope Scope, selector Selector) (Transition, bool) {
	if !scope.Contains(st.key) {
		return Transition{}, false
	}
	before, after := selector.Matches(st.prev), selector.Matches(st.next)
	switch {
	case !before && after:
		return Transition{Type: Added, RV: st.rv, Object: st.next}, true
	case before && after:
		return Transition{Type: Modified, RV: st.rv, Object: st.next}, true
	case before && !after:
		return Transition{Type: Deleted, RV: st.rv, Object: st.last}, true
	}
	return Transition{}, false
}
