package linearizability_test

import (
	"slices"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

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

var streamDamages = []damage{
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
	{"lose the tail of an open stream", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, func(p place) bool { return isLive(p) && p.stream.Closed == model.Pending }))
		if !ok {
			return nil
		}
		p.stream.Events = p.stream.Events[:p.index]
		return guarantees{linearizability.Delivered}
	}},
	{"send what never matched", func(c chooser, h *model.History) guarantees {
		store := model.NewStore(&h.Truth)
		type unmatched struct {
			place
			change *model.Change
		}
		var places []unmatched
		for _, p := range events(h, func(p place) bool { return isLive(p) && !p.stream.Selector.Empty() }) {
			for i := range h.Truth.Changes {
				change := &h.Truth.Changes[i]
				if change.RV == p.event().RV+1 && p.stream.Scope.Contains(change.Object.Key()) &&
					len(store.Owed(p.stream.Scope, p.stream.Selector, change.RV-1, change.RV)) == 0 {
					places = append(places, unmatched{p, change})
				}
			}
		}
		p, ok := pick(c, places)
		if !ok {
			return nil
		}
		object := p.change.Object
		object.RV = p.change.RV
		p.index++
		insert(p.place, model.Event{Stream: p.stream.ID, Time: p.stream.Events[p.index-1].Time, Type: model.Modified, RV: object.RV, Object: &object})
		return guarantees{linearizability.Typed}
	}},
	{"send a bookmark from the future", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, isLive))
		if !ok {
			return nil
		}
		insert(p, model.Event{Stream: p.stream.ID, Time: p.event().Time, Type: model.Bookmark, RV: h.Truth.Revision + 1})
		return guarantees{linearizability.Bookmarked}
	}},
	{"fail without saying why", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, func(p place) bool { return p.event().Type == model.Error && p.index > 0 }))
		if !ok {
			return nil
		}
		p.event().Err, p.event().Message = model.OK, ""
		return guarantees{linearizability.LastError}
	}},
	{"repeat an object of the initial block", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, func(p place) bool { return p.index < markOf(p.stream) }))
		if !ok {
			return nil
		}
		insert(p, *p.event())
		return guarantees{linearizability.Unique}
	}},
	{"begin with MODIFIED", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, func(p place) bool { return p.index < markOf(p.stream) }))
		if !ok {
			return nil
		}
		p.event().Type = model.Modified
		return guarantees{linearizability.Initial}
	}},
	{"begin with an older state of an object", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, func(p place) bool { return p.index < markOf(p.stream) }))
		if !ok {
			return nil
		}
		p.own().RV--
		p.event().RV--
		return guarantees{linearizability.Initial}
	}},
	{"forget to mark the end of the initial block", func(c chooser, h *model.History) guarantees {
		p, ok := pick(c, events(h, func(p place) bool {
			return p.event().InitialEnd && slices.ContainsFunc(p.stream.Events[p.index+1:], func(e model.Event) bool {
				return e.Type == model.Modified || e.Type == model.Deleted
			})
		}))
		if !ok {
			return nil
		}
		remove(p)
		return guarantees{linearizability.InitialEnd}
	}},
}
