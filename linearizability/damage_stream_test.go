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
	onEvent("drop an event", func(p place) bool {
		return isLive(p) && slices.ContainsFunc(p.stream.Events[p.index+1:], func(e model.Event) bool { return isChange(&e) || e.Type == model.Bookmark })
	}, func(p place) { remove(p) }, linearizability.Reliable),
	onEvent("drop the last event of an open stream", func(p place) bool {
		return isLive(p) && p.index == len(p.stream.Events)-1 && p.stream.Closed == model.Pending
	}, func(p place) { remove(p) }, linearizability.Delivered),
	onEvent("repeat an event", isLive, func(p place) { insert(p, *p.event()) }, linearizability.Unique),
	onEvent("swap two events", func(p place) bool {
		return isLive(p) && p.index+1 < len(p.stream.Events) && isChange(&p.stream.Events[p.index+1])
	}, func(p place) {
		a, b := &p.stream.Events[p.index], &p.stream.Events[p.index+1]
		*a, *b = *b, *a
	}, linearizability.Ordered),
	onEvent("change an event's type", isLive, func(p place) {
		others := map[model.EventType]model.EventType{model.Added: model.Modified, model.Modified: model.Added, model.Deleted: model.Modified}
		p.event().Type = others[p.event().Type]
	}, linearizability.Typed),
	onEvent("change an event's object", func(p place) bool { return isChange(p.event()) }, func(p place) { p.own().Value = "another" }, linearizability.Faithful),
	onEvent("change an event's RV", isLive, func(p place) { p.own().RV++ }, linearizability.Faithful),
	onEvent("send an object out of scope", func(p place) bool { return isChange(p.event()) && p.stream.Scope.Namespace != "" },
		func(p place) { p.own().Namespace = "elsewhere" }, linearizability.Scoped),
	onEvent("send a bookmark early", isLive,
		func(p place) {
			insert(p, model.Event{Stream: p.stream.ID, Time: p.event().Time, Type: model.Bookmark, RV: p.event().RV})
		}, linearizability.Bookmarked),
	onEvent("send an old bookmark", isLive, func(p place) {
		bookmark := model.Event{Stream: p.stream.ID, Time: p.event().Time, Type: model.Bookmark, RV: p.event().RV - 1}
		p.index++
		insert(p, bookmark)
	}, linearizability.Bookmarked),
	onEvent("go on after an error", func(p place) bool { return p.event().Type == model.Error }, func(p place) { insert(p, *p.event()) }, linearizability.LastError),
	onEvent("leave an object out of the initial block", func(p place) bool { return p.index < markOf(p.stream) },
		func(p place) { remove(p) }, linearizability.Initial),
	onEvent("mark the end of the initial block early", func(p place) bool { return p.index == markOf(p.stream) && p.index > 0 }, func(p place) {
		a, b := &p.stream.Events[p.index-1], p.event()
		*a, *b = *b, *a
	}, linearizability.InitialEnd),
	onEvent("mark the end of the initial block twice", func(p place) bool { return p.event().InitialEnd },
		func(p place) { insert(p, *p.event()) }, linearizability.InitialEnd),
	onEvent("lose the tail of an open stream", func(p place) bool { return isLive(p) && p.stream.Closed == model.Pending },
		func(p place) { p.stream.Events = p.stream.Events[:p.index] }, linearizability.Delivered),
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
	onEvent("fail without saying why", func(p place) bool { return p.event().Type == model.Error && p.index > 0 },
		func(p place) { p.event().Err, p.event().Message = model.OK, "" }, linearizability.LastError),
	onEvent("repeat an object of the initial block", func(p place) bool { return p.index < markOf(p.stream) },
		func(p place) { insert(p, *p.event()) }, linearizability.Unique),
	onEvent("begin with MODIFIED", func(p place) bool { return p.index < markOf(p.stream) },
		func(p place) { p.event().Type = model.Modified }, linearizability.Initial),
	onEvent("begin with an older state of an object", func(p place) bool { return p.index < markOf(p.stream) }, func(p place) {
		p.own().RV--
		p.event().RV--
	}, linearizability.Initial),
	onEvent("forget to mark the end of the initial block", func(p place) bool {
		return p.event().InitialEnd && slices.ContainsFunc(p.stream.Events[p.index+1:], func(e model.Event) bool {
			return e.Type == model.Modified || e.Type == model.Deleted
		})
	}, func(p place) { remove(p) }, linearizability.InitialEnd),
}
