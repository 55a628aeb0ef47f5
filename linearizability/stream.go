package linearizability

import (
	"cmp"
	"slices"

	"github.com/watchsim/watchsim/model"
)

// walkStreams checks every stream by itself and returns the findings of each.
func walkStreams(f *facts) []*walk {
	walks := make([]*walk, len(f.history.Streams))
	selections, arrived := selections{facts: f}, []int(nil)
	for i := range f.history.Streams {
		s := &f.history.Streams[i]
		w := &walk{facts: f, stream: s, findings: findings{most: f.config.ViolationsPerSource}}
		walks[i] = w
		if s.Err == model.OK {
			// The walks share one buffer, one after the other.
			w.arrived = arrived[:0]
			w.run(selections.of(s.Scope, s.Selector))
			arrived, w.arrived = w.arrived, nil
		}
	}
	return walks
}

// judgeStreams reports the findings of each stream by itself.
func judgeStreams(f *facts, out *findings) {
	for _, w := range f.walks {
		out.add(&w.findings)
		w.judgeMarkOverdue(out)
	}
}

// walk compares the events of one stream with those that the model owes it. Each
// event is reported under the most specific guarantee that it breaks: a duplicate
// breaks Unique and not Ordered as well.
type walk struct {
	facts  *facts
	stream *model.Stream
	findings

	// start is the RV that the stream starts from: the requested one, or that of the
	// initial block.
	start int64
	// block is the number of events in the initial block, including its mark.
	block int
	// partial says that the stream ended within its initial block.
	partial bool
	// late are the objects of the block that arrived after the mark of its end.
	late map[model.Key]int64

	// selection is what the stream requests, owed the part of it after start, which
	// begins at index first.
	selection *selection
	owed      []model.Transition
	first     int
	// arrived says which event delivered each of owed: the index of the event plus
	// one, 0 if none has. It ends where nothing has arrived yet.
	arrived []int
	// proved is how much of owed is known to have been due by now.
	proved int
	// promised are those of owed that a bookmark covered before they arrived.
	promised []int
	// high is the RV of the newest event, bookmark that of the newest bookmark.
	high, bookmark int64
	// newest is the event with the highest RV among those that the stream was
	// owed after its start, nil if there is none.
	newest *model.Event
}

// broken reports whether some guarantee was found broken.
func (w *walk) broken() bool { return len(w.violations) > 0 }

// events returns the events of the stream. Without a cache those after an ERROR do not count:
// Kubernetes' etcd3 store may still send pending events, and documents it (watcher.go,
// startWatching).
func (w *walk) events() []model.Event {
	if failed := failureOf(w.stream); failed >= 0 && !w.facts.cached {
		return w.stream.Events[:failed+1]
	}
	return w.stream.Events
}

func (w *walk) run(of *selection) {
	w.start, w.selection = w.stream.RV, of
	if refused := len(w.stream.Events) > 0 && w.stream.Events[0].Type == model.Error; w.stream.Watch().HasBlock() && !refused {
		w.block = w.readBlock()
	}
	w.high, w.bookmark = w.start, max(w.bookmark, w.start)
	if !w.partial {
		w.first = w.selection.after(w.start)
		w.owed = w.selection.owed[w.first:]
	}
	failed := -1
	for i := range w.events() {
		event := &w.stream.Events[i]
		if failed >= 0 {
			w.violate(LastError, afterError, w.at(i).proof(nil, &w.stream.Events[failed]))
		}
		if event.InitialEnd && event.Type != model.Bookmark {
			w.violate(InitialEnd, markNoBookmark, w.at(i, event.RV))
		}
		switch {
		case event.Type == model.Error:
			failed = i
			if event.Err == model.OK && event.Message == "" {
				w.violate(LastError, withoutStatus, w.at(i))
			}
		case i < w.block:
		case event.Type == model.Bookmark:
			w.readBookmark(i, event)
		case event.IsData():
			w.readEvent(i, event)
		default:
			w.violate(Typed, unknownType, w.at(i, event.RV))
		}
	}
	w.reportPromised()
	if failed < 0 {
		w.judgeDelivered()
	}
}

// isDue reports whether an event is the next of owed, intact and not too early. Such an
// event needs no further checks, and nearly all are.
func (w *walk) isDue(event *model.Event) bool {
	if w.proved == len(w.owed) || event.Object == nil {
		return false
	}
	want := &w.owed[w.proved]
	return event.RV == want.RV && event.Type == want.Type && event.Object.Equal(want.Object) &&
		event.Time >= w.selection.earliest[w.first+w.proved]
}

// arrive records which event delivered one of owed.
func (w *walk) arrive(k, i int) {
	for len(w.arrived) <= k {
		w.arrived = append(w.arrived, 0)
	}
	w.arrived[k] = i + 1
	if rv := w.owed[k].RV; rv > w.high {
		w.high, w.newest = rv, &w.stream.Events[i]
	}
}

// readEvent judges an event after the initial block.
func (w *walk) readEvent(i int, event *model.Event) {
	if w.isDue(event) {
		w.arrive(w.proved, i)
		w.proved++
		return
	}
	k, owed := w.find(event.RV, event.Object)
	switch {
	case event.Object == nil:
		w.violate(Faithful, withoutObject, w.at(i, event.RV))
		return
	case !w.stream.Scope.Contains(event.Object.Key()):
		w.violate(Scoped, outOfScope, w.at(i, event.RV))
		return
	case event.RV <= w.start && w.isLate(event):
		return // reported with the mark that it follows
	case w.isMisdated(event, &k):
		w.violate(Faithful, wrongDeletion, w.at(i, event.RV).owing(&w.owed[k]))
		w.arrive(k, i)
		w.proveUpTo(i, k)
		return
	case event.RV <= w.start:
		w.violate(Unique, belowStart, w.at(i, event.RV).want(w.start))
		return
	case !owed:
		w.reportUnowed(i, event)
		return
	case w.has(k):
		w.violate(Unique, repeatedEvent, w.at(i, event.RV).proof(w.stream, &w.stream.Events[w.arrived[k]-1]))
		return
	}
	if event.RV < w.high {
		w.violate(Ordered, outOfOrder, w.at(i, event.RV, w.high).want(w.high))
	}
	w.arrive(k, i)
	if event.Time < w.selection.earliest[w.first+k] {
		w.reportTooEarly(i, event)
	}

	want := &w.owed[k]
	switch {
	case event.Object.Key() != want.Object.Key():
		w.violate(Faithful, wrongObject, w.at(i, event.RV).owing(want))
	case event.Type != want.Type:
		w.violate(Typed, wrongType, w.at(i, event.RV).owing(want))
		fallthrough
	default:
		if !event.Object.Equal(want.Object) {
			w.violate(Faithful, wrongContent, w.at(i, event.RV).differing(Difference{Altered, want.Object, event.Object}))
		}
	}

	w.proveUpTo(i, k)
}

// proveUpTo reports what is missing before one of owed that an event has delivered.
func (w *walk) proveUpTo(i, k int) {
	for ; w.proved < k; w.proved++ {
		if !w.has(w.proved) {
			w.violate(Reliable, missingEvent, w.at(i, w.owed[w.proved].RV).owing(&w.owed[w.proved]))
		}
	}
	w.proved = max(w.proved, k+1)
}

// isMisdated reports whether an event is an owed deletion with the RV of the deleted
// state instead of its own, and which of owed it is.
func (w *walk) isMisdated(event *model.Event, which *int) bool {
	if event.Type != model.Deleted {
		return false
	}
	version, known := w.facts.store.VersionAt(event.Object.Key(), event.RV)
	if !known || version.Object == nil || version.RV != event.RV {
		return false
	}
	k, owed := w.find(version.Until, event.Object)
	if !owed || w.owed[k].Type != model.Deleted || w.has(k) {
		return false
	}
	deleted := *w.owed[k].Object
	deleted.RV = event.Object.RV
	*which = k
	return event.Object.Equal(&deleted)
}

// has reports whether one of owed has arrived.
func (w *walk) has(k int) bool { return k < len(w.arrived) && w.arrived[k] > 0 }

// reportTooEarly reports an event that arrived before its change was committed.
func (w *walk) reportTooEarly(i int, event *model.Event) {
	w.violate(Faithful, futureEvent, w.at(i, event.RV).want(w.facts.bounds.maxRV(event.Time)))
}

// isLate reports whether an event belongs to the initial block but arrived after the
// mark of its end; true once for each.
func (w *walk) isLate(event *model.Event) bool {
	rv, late := w.late[event.Object.Key()]
	if !late || rv != event.RV {
		return false
	}
	delete(w.late, event.Object.Key())
	return true
}

// find returns which of owed is at rv. If several are, as one lease has expired for their objects, it returns that of the given object.
func (w *walk) find(rv int64, of *model.Object) (int, bool) {
	if w.proved < len(w.owed) && w.owed[w.proved].RV == rv && (of == nil || w.owed[w.proved].Object.Key() == of.Key()) {
		return w.proved, true
	}
	first, found := slices.BinarySearchFunc(w.owed, rv, func(t model.Transition, rv int64) int { return cmp.Compare(t.RV, rv) })
	for k := first; of != nil && k < len(w.owed) && w.owed[k].RV == rv; k++ {
		if w.owed[k].Object.Key() == of.Key() {
			return k, true
		}
	}
	return first, found
}

// reportUnowed reports an event within scope that the stream is not owed.
func (w *walk) reportUnowed(i int, event *model.Event) {
	if key, changed := w.facts.store.KeyOf(event.RV); changed && key == event.Object.Key() {
		w.violate(Typed, neverMatched, w.at(i, event.RV))
		return
	}
	w.violate(Faithful, noSuchChange, w.at(i, event.RV))
}

// readBookmark judges a bookmark after the initial block. A bookmark that is itself
// wrong proves nothing about the events around it.
func (w *walk) readBookmark(i int, event *model.Event) {
	if event.InitialEnd {
		code := markTwice
		if !w.stream.Watch().MayMark() {
			code = unasked
		}
		w.violate(InitialEnd, code, w.at(i, event.RV))
	}
	if !w.stream.Bookmarks && !event.InitialEnd {
		w.violate(Bookmarked, unasked, w.at(i, event.RV))
	}
	latest := w.facts.bounds.maxRV(event.Time)
	switch {
	case event.RV < 1:
		w.violate(Bookmarked, withoutRV, w.at(i, event.RV))
		return
	case event.RV > latest:
		w.violate(Bookmarked, futureEvent, w.at(i, event.RV).want(latest))
		return
	case event.RV < w.bookmark || event.RV < w.high:
		w.violate(Bookmarked, outOfOrder, w.at(i, event.RV, max(w.bookmark, w.high)).want(max(w.bookmark, w.high)))
		return
	}
	w.bookmark = event.RV
	before := len(w.promised)
	for ; w.proved < len(w.owed) && w.owed[w.proved].RV <= event.RV; w.proved++ {
		if !w.has(w.proved) {
			w.promised = append(w.promised, w.proved)
		}
	}
	if early := w.promised[before:]; len(early) > 0 {
		first := &w.owed[early[0]]
		w.violate(Bookmarked, earlyBookmark, w.at(i, first.RV).owing(first).got(int64(len(early))))
	}
}

// reportPromised reports as gaps the events that a bookmark covered and the stream
// never delivered.
func (w *walk) reportPromised() {
	for _, k := range w.promised {
		if !w.has(k) {
			w.violate(Reliable, promisedEvent, onStream(w.stream, w.owed[k].RV).owing(&w.owed[k]))
		}
	}
}

// at returns a witness for one event of the stream.
func (w *walk) at(event int, rvs ...int64) Witness {
	return onStream(w.stream, rvs...).showing(&w.stream.Events[event])
}
