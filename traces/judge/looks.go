package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/watchsim/watchsim/model"
)

// look is a state that a server returned, and the known changes that it lacked.
type look struct {
	time int64 // when the read was called, or the stream ended
	rv   int64 // of the state
	// missed is how many changes it lacked; first is when the first of them was first
	// returned to anybody, newest the newest that had been returned.
	missed        int
	first, newest model.Moment
	op            *model.Operation
	stream        *model.Stream
	// end says that it is the state of a stream at its end, not at its beginning.
	end bool
}

// looksOf returns the states that each server returned, in order of time.
func looksOf(h *model.History, store *model.Store, known model.Staircase) map[string][]look {
	all := map[string][]look{}
	add := func(server string, l look, scope model.Scope, selector model.Selector, lacks func(*model.Transition) bool) {
		if newest, ok := known.Before(l.time); ok && newest.RV > l.rv {
			l.newest = newest
			for owed := range model.Each(store.Owed(scope, selector, l.rv, newest.RV)) {
				if lacks != nil && !lacks(owed) {
					continue
				}
				if l.missed == 0 {
					l.first, _ = known.Reached(owed.RV)
				}
				l.missed++
			}
		}
		all[server] = append(all[server], l)
	}
	for op := range model.Each(h.Operations) {
		if op.Err != model.OK || op.Return == model.Pending || op.Continues != 0 || op.Match == model.MatchExact {
			continue
		}
		switch op.Kind {
		case model.List:
			add(op.Server, look{time: op.Call, rv: op.ResultRV, op: op}, op.Scope, op.Selector, nil)
		case model.Get:
			if len(op.Objects) > 0 {
				key := op.Objects[0].Key()
				add(op.Server, look{time: op.Call, rv: op.Objects[0].RV, op: op}, model.Scope(key), model.Selector{}, nil)
			}
		}
	}
	for s := range model.Each(h.Streams) {
		ended := s.Closed
		if ended == model.Pending {
			ended = h.End
		}
		// The events of a stream that was recorded without times are all at the end. A
		// refused stream has no state, and a slow or stalled client lags by itself.
		refused := s.Err != model.OK || len(s.Events) > 0 && s.Events[0].Type == model.Error
		if refused || s.Return == model.Pending || s.Return == h.End || s.Consumer == "slow" || s.Consumer == "stalled" {
			continue
		}
		rv, block := s.Beginning()
		if len(s.Events) > 0 && (s.RV <= 0 || s.InitialEvents) {
			add(s.Server, look{time: s.Call, rv: rv, stream: s}, s.Scope, s.Selector, lackedBy(s.Events[:block]))
		}
		for event := range model.Each(s.Events) {
			rv = max(rv, event.RV)
		}
		if rv > 0 {
			add(s.Server, look{time: ended, rv: rv, stream: s, end: true}, s.Scope, s.Selector, lackedBy(s.Events))
		}
	}
	for server := range all {
		slices.SortStableFunc(all[server], func(a, b look) int { return cmp.Compare(a.time, b.time) })
	}
	return all
}

// lackedBy says which transitions events lack. If the deletion of an object is missing,
// that matters only if the events show the object.
func lackedBy(events []model.Event) func(*model.Transition) bool {
	shown := map[model.Key]bool{}
	for event := range model.Each(events) {
		if event.Object != nil {
			shown[event.Object.Key()] = event.Type != model.Deleted
		}
	}
	return func(t *model.Transition) bool { return t.Type != model.Deleted || shown[t.Object.Key()] }
}

// what names the read or the stream.
func (l *look) what() string {
	if l.stream != nil {
		return fmt.Sprintf("stream %d of client %s (%s)", l.stream.ID, l.stream.Client, askedRV("from", l.stream.RV))
	}
	return fmt.Sprintf("operation %d of client %s (%s %s)", l.op.ID, l.op.Client, l.op.Kind, askedRV("at", l.op.RV))
}

func askedRV(where string, rv int64) string {
	if rv == model.RVUnset {
		return "without an RV"
	}
	return fmt.Sprintf("%s RV %d", where, rv)
}

// shownBy says how a revision was returned.
func shownBy(m model.Moment) string {
	if m.Event != nil {
		object := ""
		if m.Event.Object != nil {
			object = " " + m.Event.Object.Key().String()
		}
		return fmt.Sprintf("%s%s at RV %d on stream %d of %s", m.Event.Type, object, m.RV, m.Stream.ID, m.Stream.Server)
	}
	return fmt.Sprintf("the response of %s to operation %d (%s), at RV %d", m.Operation.Server, m.Operation.ID, m.Operation.Kind, m.RV)
}
