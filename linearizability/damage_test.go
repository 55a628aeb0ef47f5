package linearizability_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// damage breaks a correct history in one place and says which guarantees may be
// reported for it, of which one must be; nil if the history has no such place.
type damage struct {
	name    string
	inflict func(chooser, *model.History) guarantees
}

// pick returns one of the places that a history has.
func pick[T any](c chooser, places []T) (place T, ok bool) {
	if len(places) == 0 {
		return place, false
	}
	return places[c.below(len(places))], true
}

// place is an event of a stream.
type place struct {
	stream *model.Stream
	index  int
}

func (p place) event() *model.Event { return &p.stream.Events[p.index] }

// own gives the event an object of its own, so that a change to it stays there.
func (p place) own() *model.Object {
	object := *p.event().Object
	p.event().Object = &object
	return &object
}

func isChange(e *model.Event) bool {
	return e.Type == model.Added || e.Type == model.Modified || e.Type == model.Deleted
}

// events returns the events for which keep holds. Those of streams with a block
// whose end is not marked are left out: there, damage can look like another
// block.
func events(h *model.History, keep func(p place) bool) []place {
	var places []place
	for i := range h.Streams {
		s := &h.Streams[i]
		if s.Err != model.OK || (!afterBlock(s) && !hasMark(s)) {
			continue
		}
		for j := range s.Events {
			if p := (place{s, j}); keep(p) {
				places = append(places, p)
			}
		}
	}
	return places
}

func afterBlock(s *model.Stream) bool { return s.RV > 0 && !s.InitialEvents }

func hasMark(s *model.Stream) bool { return markOf(s) >= 0 }

func markOf(s *model.Stream) int {
	return slices.IndexFunc(s.Events, func(e model.Event) bool { return e.InitialEnd })
}

// isLive says that the event is a change after the block, if there was one.
func isLive(p place) bool {
	return isChange(p.event()) && (afterBlock(p.stream) || p.index > markOf(p.stream))
}

func insert(p place, e model.Event) { p.stream.Events = slices.Insert(p.stream.Events, p.index, e) }

func remove(p place) { p.stream.Events = slices.Delete(p.stream.Events, p.index, p.index+1) }

var damages = []damage{
	{"drop an event", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, func(p place) bool {
			return isLive(p) && slices.ContainsFunc(p.stream.Events[p.index+1:], func(e model.Event) bool { return isChange(&e) || e.Type == model.Bookmark })
		}))
		if !ok {
			return nil
		}
		remove(p)
		return guarantees{linearizability.Reliable}
	}},
	{"drop the last event of an open stream", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, func(p place) bool {
			return isLive(p) && p.index == len(p.stream.Events)-1 && p.stream.Closed == model.Pending
		}))
		if !ok {
			return nil
		}
		remove(p)
		return guarantees{linearizability.Delivered}
	}},
	{"repeat an event", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, isLive))
		if !ok {
			return nil
		}
		insert(p, *p.event())
		return guarantees{linearizability.Unique}
	}},
	{"swap two events", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, func(p place) bool {
			return isLive(p) && p.index+1 < len(p.stream.Events) && isChange(&p.stream.Events[p.index+1])
		}))
		if !ok {
			return nil
		}
		a, b := &p.stream.Events[p.index], &p.stream.Events[p.index+1]
		*a, *b = *b, *a
		return guarantees{linearizability.Ordered}
	}},
	{"change an event's type", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, isLive))
		if !ok {
			return nil
		}
		others := map[model.EventType]model.EventType{model.Added: model.Modified, model.Modified: model.Added, model.Deleted: model.Modified}
		p.event().Type = others[p.event().Type]
		return guarantees{linearizability.Typed}
	}},
	{"change an event's object", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, func(p place) bool { return isChange(p.event()) }))
		if !ok {
			return nil
		}
		p.own().Value = "another"
		return guarantees{linearizability.Faithful}
	}},
	{"change an event's RV", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, isLive))
		if !ok {
			return nil
		}
		p.own().RV++
		return guarantees{linearizability.Faithful}
	}},
	{"send an object out of scope", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, func(p place) bool { return isChange(p.event()) && p.stream.Scope.Namespace != "" }))
		if !ok {
			return nil
		}
		p.own().Namespace = "elsewhere"
		return guarantees{linearizability.Scoped}
	}},
	{"send a bookmark early", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, isLive))
		if !ok {
			return nil
		}
		insert(p, model.Event{Stream: p.stream.ID, Time: p.event().Time, Type: model.Bookmark, RV: p.event().RV})
		return guarantees{linearizability.Bookmarked}
	}},
	{"send an old bookmark", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, isLive))
		if !ok {
			return nil
		}
		bookmark := model.Event{Stream: p.stream.ID, Time: p.event().Time, Type: model.Bookmark, RV: p.event().RV - 1}
		p.index++
		insert(p, bookmark)
		return guarantees{linearizability.Bookmarked}
	}},
	{"go on after an error", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, func(p place) bool { return p.event().Type == model.Error }))
		if !ok {
			return nil
		}
		insert(p, *p.event())
		return guarantees{linearizability.LastError}
	}},
	{"leave an object out of the initial block", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, func(p place) bool { return p.index < markOf(p.stream) }))
		if !ok {
			return nil
		}
		remove(p)
		return guarantees{linearizability.Initial}
	}},
	{"mark the end of the initial block early", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, func(p place) bool { return p.index == markOf(p.stream) && p.index > 0 }))
		if !ok {
			return nil
		}
		a, b := &p.stream.Events[p.index-1], p.event()
		*a, *b = *b, *a
		return guarantees{linearizability.InitialEnd}
	}},
	{"mark the end of the initial block twice", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, func(p place) bool { return p.event().InitialEnd }))
		if !ok {
			return nil
		}
		insert(p, *p.event())
		return guarantees{linearizability.InitialEnd}
	}},
	{"leave an item out of a list", func(c chooser, h *model.History) guarantees {
		op, ok := pick(c, operations(h, func(op *model.Operation) bool { return op.Kind == model.List && len(op.Objects) > 0 }))
		if !ok {
			return nil
		}
		i := c.below(len(op.Objects))
		op.Objects = slices.Delete(slices.Clone(op.Objects), i, i+1)
		return guarantees{linearizability.ExactState, linearizability.Paged}
	}},
	{"change a list's item", func(c chooser, h *model.History) guarantees {
		op, ok := pick(c, operations(h, func(op *model.Operation) bool { return op.Kind == model.List && len(op.Objects) > 0 }))
		if !ok {
			return nil
		}
		op.Objects = slices.Clone(op.Objects)
		op.Objects[c.below(len(op.Objects))].Value = "another"
		return guarantees{linearizability.ExactState}
	}},
	{"miscount the rest of a list", func(c chooser, h *model.History) guarantees {
		op, ok := pick(c, operations(h, func(op *model.Operation) bool { return op.Kind == model.List && op.Remaining > 0 }))
		if !ok {
			return nil
		}
		op.Remaining++
		return guarantees{linearizability.Paged}
	}},
	{"list exactly another RV", func(c chooser, h *model.History) guarantees {
		op, ok := pick(c, operations(h, func(op *model.Operation) bool {
			return op.Kind == model.List && op.Err == model.OK && op.Match == model.MatchExact
		}))
		if !ok {
			return nil
		}
		op.RV++
		return guarantees{linearizability.Exact}
	}},
	{"list less than asked", func(c chooser, h *model.History) guarantees {
		op, ok := pick(c, operations(h, func(op *model.Operation) bool {
			return op.Kind == model.List && op.Err == model.OK && op.Match == model.MatchNotOlderThan
		}))
		if !ok {
			return nil
		}
		op.RV = op.ResultRV + 1
		return guarantees{linearizability.NotOlderThan}
	}},
	{"acknowledge a write that is not in etcd", func(c chooser, h *model.History) guarantees {
		op, ok := pick(c, operations(h, func(op *model.Operation) bool { return op.Object != nil && op.Err == model.OK && op.ResultRV > 0 }))
		if !ok {
			return nil
		}
		object := *op.Object
		object.Value = "another"
		op.Object = &object
		return guarantees{linearizability.Linearizable}
	}},
	{"refuse a write that is in etcd", func(c chooser, h *model.History) guarantees {
		op, ok := pick(c, operations(h, func(op *model.Operation) bool { return op.Object != nil && op.Err == model.OK && op.ResultRV > 0 }))
		if !ok {
			return nil
		}
		op.Err, op.ResultRV = model.Conflict, 0
		return guarantees{linearizability.Preconditions}
	}},
	{"read what is long gone", func(c chooser, h *model.History) guarantees {
		op, ok := pick(c, operations(h, func(op *model.Operation) bool {
			return op.Kind == model.Get && op.RV == model.RVUnset && op.Err == model.OK
		}))
		if !ok {
			return nil
		}
		op.Err, op.Objects, op.ResultRV = model.OK, []model.Object{{Namespace: op.Scope.Namespace, Name: op.Scope.Name, Value: "another", RV: 1}}, 1
		return guarantees{linearizability.Linearizable}
	}},
	{"leave an object out of an informer", func(c chooser, h *model.History) guarantees {
		if len(h.Informers[0].Objects) == 0 {
			return nil
		}
		h.Informers[0].Objects = h.Informers[0].Objects[1:]
		return guarantees{linearizability.Converged}
	}},
	{"swap two revisions", func(c chooser, h *model.History) guarantees {
		if len(h.Truth.Changes) < 2 {
			return nil
		}
		i := c.below(len(h.Truth.Changes) - 1)
		h.Truth.Changes[i].RV, h.Truth.Changes[i+1].RV = h.Truth.Changes[i+1].RV, h.Truth.Changes[i].RV
		return guarantees{linearizability.Revision}
	}},
}

func operations(h *model.History, keep func(*model.Operation) bool) []*model.Operation {
	var kept []*model.Operation
	for i := range h.Operations {
		if keep(&h.Operations[i]) {
			kept = append(kept, &h.Operations[i])
		}
	}
	return kept
}

// reports requires that one of the guarantees is reported and that the verdict
// says failed.
func reports(t require.TestingT, h *model.History, want guarantees) {
	verdict := linearizability.Check(h, lenient())
	require.Equal(t, linearizability.Failed, verdict.Outcome)
	for _, violation := range verdict.Violations {
		if slices.Contains(want, violation.Guarantee) {
			return
		}
	}
	require.Fail(t, "not reported", "want one of %v, got %v", want, verdict.Err())
}

func TestDamageIsReported(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(damages).Draw(t, "damage")
		h := generate(rapidChooser{t}, rapid.IntRange(20, 100).Draw(t, "steps"))
		if want := d.inflict(rapidChooser{t}, h); want != nil {
			reports(t, h, want)
		}
	})
}

// TestEachDamageIsReported sees to it that no kind of damage goes untried.
func TestEachDamageIsReported(t *testing.T) {
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			inflicted := 0
			for seed := range uint64(60) {
				c := randomChooser{rand.New(rand.NewPCG(seed, 2))}
				h := generate(c, 150)
				if want := d.inflict(c, h); want != nil {
					inflicted++
					reports(t, h, want)
				}
			}
			require.Greater(t, inflicted, 5)
		})
	}
}
