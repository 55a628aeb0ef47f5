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

// events returns the events for which keep holds. Those of streams with a block
// whose end is not marked are left out: there, damage can look like another
// block.
func events(h *model.History, keep func(p place) bool) []place {
	return slices.DeleteFunc(allEvents(h, keep), func(p place) bool { return !afterBlock(p.stream) && p.stream.Mark() < 0 })
}

func allEvents(h *model.History, keep func(p place) bool) []place {
	var places []place
	for _, s := range where(h.Streams, opened) {
		for i := range s.Events {
			if p := (place{s, i}); keep(p) {
				places = append(places, p)
			}
		}
	}
	return places
}

func afterBlock(s *model.Stream) bool { return s.RV > 0 && !s.InitialEvents }

// isLive reports whether the event is a change after the block, if there was one.
func isLive(p place) bool {
	return p.event().IsData() && (afterBlock(p.stream) || p.index > p.stream.Mark())
}

func inBlock(p place) bool { return p.index < p.stream.Mark() }

func insert(p place, e model.Event) { p.stream.Events = slices.Insert(p.stream.Events, p.index, e) }

func remove(p place) { p.stream.Events = slices.Delete(p.stream.Events, p.index, p.index+1) }

func repeat(p place) { insert(p, *p.event()) }

// swap exchanges an event with the next.
func swap(p place) {
	a, b := p.event(), &p.stream.Events[p.index+1]
	*a, *b = *b, *a
}

func (p place) bookmark(rv int64) model.Event {
	return model.Event{Stream: p.stream.ID, Time: p.event().Time, Type: model.Bookmark, RV: rv}
}

// allowed is harmless where the second opinion has nothing against the stream.
func allowed(s *model.Stream, o *secondOpinion) bool {
	request := *s
	return s.Err != model.OK || o.allows(&request)
}

// tamperEvents is an edit of each event for which keep holds.
func tamperEvents(edit, silence string, keep func(place) bool, apply func(place)) tampering {
	return at("event", edit, silence, func(h *model.History) []place { return allEvents(h, keep) },
		func(_ *model.History, p place) { apply(p) }, func(p place, o *secondOpinion) bool { return allowed(p.stream, o) })
}

// breakEvent is an edit of an event that breaks a guarantee for certain.
func breakEvent(edit string, keep func(place) bool, apply func(place), want *linearizability.Guarantee) tampering {
	return breaks("event", edit, func(h *model.History) []place { return events(h, keep) }, func(_ *model.History, p place) { apply(p) }, want)
}

func tamperObject(edit string, change func(*model.Object)) tampering {
	return tamperEvents(edit, "", func(p place) bool { return p.event().IsData() }, func(p place) { change(p.own()) })
}

func anyEvent(place) bool { return true }

func isBookmark(p place) bool { return p.event().Type == model.Bookmark }

func sendAs(kind model.EventType) tampering {
	return tamperEvents("send as "+string(kind), "", func(p place) bool { return p.event().IsData() && p.event().Type != kind },
		func(p place) { p.event().Type = kind })
}

var eventTamperings = []tampering{
	tamperEvents("drop it", anotherStart, anyEvent, remove),
	tamperEvents("send it twice", "a bookmark may repeat what the one before it said", anyEvent, repeat),
	tamperEvents("swap it with the next", anotherStart, func(p place) bool { return p.index+1 < len(p.stream.Events) }, swap),
	tamperEvents("drop all after it", anotherStart, anyEvent, func(p place) { p.stream.Events = p.stream.Events[:p.index+1] }),
	tamperEvents("drop all before it", anotherStart, func(p place) bool { return p.index > 0 }, func(p place) { p.stream.Events = p.stream.Events[p.index:] }),
	sendAs(model.Added), sendAs(model.Modified), sendAs(model.Deleted),
	// Among events that a stream begins with and no mark ends, it makes a state that never was.
	tamperObject("another value", func(o *model.Object) { o.Value = "another" }).as(linearizability.Faithful, linearizability.Initial),
	tamperObject("another UID", func(o *model.Object) { o.UID = "another" }),
	tamperObject("another node", func(o *model.Object) { o.Node += "-another" }),
	tamperObject("another label", relabel),
	tamperObject("another name", func(o *model.Object) { o.Name += "-another" }),
	tamperObject("another namespace", func(o *model.Object) { o.Namespace += "-another" }),
	tamperObject("an object at another RV than the event", func(o *model.Object) { o.RV-- }).as(linearizability.Faithful),
	tamperEvents("an RV too high", anotherStart, anyEvent, func(p place) { shiftRV(p, 1) }),
	tamperEvents("an RV too low", "a bookmark may be older than the server's newest RV; an error has no RV", anyEvent, func(p place) { shiftRV(p, -1) }),
	tamperEvents("a bookmark far in the future", "", isBookmark, func(p place) { p.event().RV += 1000 }),
	tamperEvents("a bookmark without an RV", "", isBookmark, func(p place) { p.event().RV = 0 }),
	tamperEvents("mark the end of the initial events, or take the mark away", "a stream that ended at once may lack the mark", isBookmark,
		func(p place) { p.event().InitialEnd = !p.event().InitialEnd }),
	tamperEvents("send it before its write was called", "events may come at any time at which their RV can have been committed", anyEvent,
		func(p place) { p.event().Time = p.stream.Call }),
	tamperEvents("an error instead of it", anotherStart, func(p place) bool { return p.event().IsData() }, func(p place) {
		p.stream.Events[p.index] = model.Event{Stream: p.stream.ID, Time: p.event().Time, Type: model.Error, Err: model.Unknown, Message: "it failed"}
	}),

	breakEvent("drop one before another", func(p place) bool {
		return isLive(p) && slices.ContainsFunc(p.stream.Events[p.index+1:], func(e model.Event) bool {
			return e.IsData() || e.Type == model.Bookmark
		})
	}, remove, linearizability.Reliable),
	breakEvent("drop the last of an open stream", func(p place) bool {
		return isLive(p) && p.index == len(p.stream.Events)-1 && p.stream.Closed == model.Pending
	}, remove, linearizability.Delivered),
	breakEvent("drop the tail of an open stream", func(p place) bool { return isLive(p) && p.stream.Closed == model.Pending },
		func(p place) { p.stream.Events = p.stream.Events[:p.index] }, linearizability.Delivered),
	breakEvent("repeat a change", isLive, repeat, linearizability.Unique),
	breakEvent("swap two changes", func(p place) bool {
		return isLive(p) && p.index+1 < len(p.stream.Events) && p.stream.Events[p.index+1].IsData()
	}, swap, linearizability.Ordered),
	breakEvent("another type", isLive, func(p place) {
		others := map[model.EventType]model.EventType{model.Added: model.Modified, model.Modified: model.Added, model.Deleted: model.Modified}
		p.event().Type = others[p.event().Type]
	}, linearizability.Typed),
	breakEvent("an object above the RV of the event", isLive, func(p place) { p.own().RV++ }, linearizability.Faithful),
	breakEvent("an object out of scope", func(p place) bool { return p.event().IsData() && p.stream.Scope.Namespace != "" },
		func(p place) { p.own().Namespace = "elsewhere" }, linearizability.Scoped),
	breakEvent("a bookmark before it, at its RV", isLive, func(p place) { insert(p, p.bookmark(p.event().RV)) }, linearizability.Bookmarked),
	breakEvent("a bookmark after it, below its RV", isLive, func(p place) {
		insert(place{p.stream, p.index + 1}, p.bookmark(p.event().RV-1))
	}, linearizability.Bookmarked),
	breaks("event", "a bookmark before it, beyond etcd", func(h *model.History) []place { return events(h, isLive) },
		func(h *model.History, p place) { insert(p, p.bookmark(h.Truth.Revision+1)) }, linearizability.Bookmarked),
	breaks("event", "after it, a change that never matched", unmatchedChanges, func(_ *model.History, u unmatched) {
		object := u.change.Object
		object.RV = u.change.RV
		insert(place{u.stream, u.index + 1}, model.Event{Stream: u.stream.ID, Time: u.event().Time,
			Type: model.Modified, RV: object.RV, Object: &object})
	}, linearizability.Typed),
	breakEvent("repeat an error", func(p place) bool { return p.event().Type == model.Error }, repeat, linearizability.LastError),
	breakEvent("an error without a status", func(p place) bool { return p.event().Type == model.Error && p.index > 0 },
		func(p place) { p.event().Err, p.event().Message = model.OK, "" }, linearizability.LastError),
	breakEvent("drop one of the initial events", inBlock, remove, linearizability.Initial),
	breakEvent("repeat one of the initial events", inBlock, repeat, linearizability.Unique),
	breakEvent("send one of the initial events as MODIFIED", inBlock, func(p place) { p.event().Type = model.Modified }, linearizability.Initial),
	breakEvent("an older state among the initial events", inBlock, func(p place) { shiftRV(p, -1) }, linearizability.Initial),
	breakEvent("mark the end of the initial events early", func(p place) bool { return p.index == p.stream.Mark()-1 }, swap, linearizability.InitialEnd),
	breakEvent("mark the end of the initial events twice", func(p place) bool { return p.event().InitialEnd }, repeat, linearizability.InitialEnd),
	breakEvent("drop the mark of the end of the initial events", func(p place) bool {
		return p.event().InitialEnd && slices.ContainsFunc(p.stream.Events[p.index+1:], func(e model.Event) bool {
			return e.Type == model.Modified || e.Type == model.Deleted
		})
	}, remove, linearizability.InitialEnd),
}

// unmatched is a change that a stream does not select, right after an event of it.
type unmatched struct {
	place
	change *model.Change
}

func unmatchedChanges(h *model.History) (places []unmatched) {
	store := model.NewStore(&h.Truth)
	for _, p := range events(h, func(p place) bool { return isLive(p) && !p.stream.Selector.Empty() }) {
		for change := range model.Each(h.Truth.Changes) {
			if change.RV == p.event().RV+1 && p.stream.Scope.Contains(change.Object.Key()) &&
				len(store.Owed(p.stream.Scope, p.stream.Selector, change.RV-1, change.RV)) == 0 {
				places = append(places, unmatched{p, change})
			}
		}
	}
	return places
}

func shiftRV(p place, by int64) {
	if p.event().RV += by; p.event().Object != nil {
		p.own().RV += by
	}
}
