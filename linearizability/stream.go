package linearizability

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/watchsim/watchsim/model"
)

// checkStreams judges every stream by itself and returns what it found of each.
func (c *checker) checkStreams() []*walk {
	walks := make([]*walk, len(c.history.Streams))
	for i := range c.history.Streams {
		walks[i] = &walk{check: c, stream: &c.history.Streams[i]}
		walks[i].run()
	}
	return walks
}

// walk goes through one stream's events and compares them with what the model
// owes it. Each event is reported under the most specific guarantee it breaks:
// one that arrives again breaks Unique and not Ordered as well.
type walk struct {
	check  *checker
	stream *model.Stream

	// start is the RV the stream starts from: the one asked for, or that of the
	// initial block.
	start int64
	// block is how many events the initial block has, with its mark if it has one.
	block int
	// partial says that the stream ended within its initial block.
	partial bool
	// late are the objects of the block that came after the mark of its end.
	late map[model.Key]int64

	// selection is what the stream asks for, owed all of it after start, which
	// begins at first.
	selection *selection
	owed      []model.Transition
	first     int
	// arrived tells which event brought each of owed, 0 if none has: the index of
	// the event plus one. It ends where nothing has arrived yet.
	arrived []int
	// proved is how much of owed is known to have been due by now.
	proved int
	// promised are those of owed that a bookmark came before.
	promised []int
	// high is the RV of the newest event, bookmark that of the newest bookmark.
	high, bookmark int64
	// newest is the event with the highest RV among those that the stream was
	// owed after its start, nil if there is none.
	newest *model.Event
	// broken says that some guarantee was found broken.
	broken bool
}

// isData reports whether an event is about an object's change or state.
func isData(e *model.Event) bool {
	return e.Type == model.Added || e.Type == model.Modified || e.Type == model.Deleted
}

func (w *walk) run() {
	if w.stream.Err != model.OK {
		return
	}
	w.start = w.stream.RV
	w.selection = w.check.selectionOf(w.stream.Scope, w.stream.Selector)
	w.arrived = w.check.arrived[:0]
	defer func() { w.check.arrived, w.arrived = w.arrived, nil }()
	next := 0
	if refused := len(w.stream.Events) > 0 && w.stream.Events[0].Type == model.Error; hasBlock(w.stream) && !refused {
		next = w.readBlock()
		w.block = next
	}
	w.high, w.bookmark = w.start, max(w.bookmark, w.start)
	if !w.partial {
		w.first = w.selection.after(w.start)
		w.owed = w.selection.owed[w.first:]
	}
	failed := -1
	for i := range w.stream.Events {
		event := &w.stream.Events[i]
		if failed >= 0 {
			w.violate(LastError, i, fmt.Sprintf("%s came after %s", describeEvent(event), describeEvent(&w.stream.Events[failed])))
		}
		if event.InitialEnd && event.Type != model.Bookmark {
			w.violate(InitialEnd, i, fmt.Sprintf("%s came, but only a bookmark can mark the end", describeEvent(event)), event.RV)
		}
		switch {
		case event.Type == model.Error:
			failed = i
			if event.Err == model.OK && event.Message == "" {
				w.violate(LastError, i, "an ERROR event carries no status")
			}
		case i < next:
		case event.Type == model.Bookmark:
			w.readBookmark(i, event)
		case isData(event):
			w.readEvent(i, event)
		default:
			w.violate(Typed, i, fmt.Sprintf("an event of the unknown type %q came at RV %d", event.Type, event.RV), event.RV)
		}
	}
	w.reportPromised()
	if failed < 0 {
		w.checkDelivered()
	}
}

// isDue reports whether an event is the next of owed, whole and not too early:
// that is all there is to ask of it, and true of nearly all.
func (w *walk) isDue(event *model.Event) bool {
	if w.proved == len(w.owed) || event.Object == nil {
		return false
	}
	want := &w.owed[w.proved]
	return event.RV == want.RV && event.Type == want.Type && event.Object.Equal(want.Object) &&
		event.Time >= w.selection.earliest[w.first+w.proved]
}

// arrive notes which event brought one of owed.
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
	k, owed := w.find(event.RV)
	switch {
	case event.Object == nil:
		w.violate(Faithful, i, fmt.Sprintf("%s carries no object", describeEvent(event)), event.RV)
		return
	case !w.stream.Scope.Contains(event.Object.Key()):
		w.violate(Scoped, i, fmt.Sprintf("%s is out of scope", describeEvent(event)), event.RV)
		return
	case event.RV <= w.start && w.isLate(event):
		return // reported with the mark that it came after
	case event.RV <= w.start:
		w.violate(Unique, i, fmt.Sprintf("%s is at or below the stream's start, RV %d", describeEvent(event), w.start), event.RV)
		return
	case !owed:
		w.reportUnowed(i, event)
		return
	case w.has(k):
		first := &w.stream.Events[w.arrived[k]-1]
		w.violate(Unique, i, fmt.Sprintf("%s had come already, received at %s", describeEvent(event), at(first.Time)), event.RV)
		return
	}
	if event.RV < w.high {
		w.violate(Ordered, i, fmt.Sprintf("%s came after RV %d", describeEvent(event), w.high), event.RV, w.high)
	}
	w.arrive(k, i)
	if event.Time < w.selection.earliest[w.first+k] {
		w.reportTooEarly(i, event)
	}

	want := &w.owed[k]
	switch {
	case event.Object.Key() != want.Object.Key():
		w.violate(Faithful, i, fmt.Sprintf("%s came instead of %s", describeEvent(event), describeTransition(want)), event.RV)
	case event.Type != want.Type:
		w.violate(Typed, i, fmt.Sprintf("%s came instead of %s", describeEvent(event), describeTransition(want)), event.RV)
		fallthrough
	default:
		if !event.Object.Equal(want.Object) {
			w.violate(Faithful, i, fmt.Sprintf("%s has %s", describeEvent(event), describeDifference(want.Object, event.Object)), event.RV)
		}
	}

	for ; w.proved < k; w.proved++ {
		if !w.has(w.proved) {
			w.reportMissing(w.proved, i)
		}
	}
	w.proved = max(w.proved, k+1)
}

// has reports whether one of owed has arrived.
func (w *walk) has(k int) bool { return k < len(w.arrived) && w.arrived[k] > 0 }

// reportTooEarly reports an event that came before its change was committed.
func (w *walk) reportTooEarly(i int, event *model.Event) {
	w.violate(Faithful, i, fmt.Sprintf("%s came, but etcd was at most at revision %d by then",
		describeEvent(event), w.check.bounds.atMost(event.Time)), event.RV)
}

// isLate reports whether an event belongs to the initial block but came after
// the mark of its end, once.
func (w *walk) isLate(event *model.Event) bool {
	rv, late := w.late[event.Object.Key()]
	if !late || rv != event.RV {
		return false
	}
	delete(w.late, event.Object.Key())
	return true
}

// find returns which of owed is at rv.
func (w *walk) find(rv int64) (int, bool) {
	if w.proved < len(w.owed) && w.owed[w.proved].RV == rv {
		return w.proved, true
	}
	return slices.BinarySearchFunc(w.owed, rv, func(t model.Transition, rv int64) int { return cmp.Compare(t.RV, rv) })
}

// reportUnowed reports an event within scope that the stream is not owed.
func (w *walk) reportUnowed(i int, event *model.Event) {
	if key, changed := w.check.store.KeyOf(event.RV); changed && key == event.Object.Key() {
		w.violate(Typed, i, fmt.Sprintf("%s came, but the object matched neither before that change nor after it", describeEvent(event)), event.RV)
		return
	}
	w.violate(Faithful, i, fmt.Sprintf("%s came, but etcd committed no such change to that object", describeEvent(event)), event.RV)
}

// reportMissing reports one of owed that had not arrived when a later event did.
func (w *walk) reportMissing(k, proof int) {
	event := &w.stream.Events[proof]
	w.violate(Reliable, proof, fmt.Sprintf("%s had not arrived when %s was", describeTransition(&w.owed[k]), describeEvent(event)),
		w.owed[k].RV)
}

// readBookmark judges a bookmark after the initial block. One that is wrong in
// itself says nothing about the events around it.
func (w *walk) readBookmark(i int, event *model.Event) {
	if event.InitialEnd {
		why := "a second time"
		if !mayMarkEnd(w.stream) {
			why = "without having been asked for"
		}
		w.violate(InitialEnd, i, fmt.Sprintf("%s came %s", describeEvent(event), why), event.RV)
	}
	if !w.stream.Bookmarks && !event.InitialEnd {
		w.violate(Bookmarked, i, fmt.Sprintf("%s came without having been asked for", describeEvent(event)), event.RV)
	}
	latest := w.check.bounds.atMost(event.Time)
	switch {
	case event.RV < 1:
		w.violate(Bookmarked, i, fmt.Sprintf("%s came, but no client can resume from there", describeEvent(event)), event.RV)
		return
	case event.RV > latest:
		w.violate(Bookmarked, i, fmt.Sprintf("%s came, but etcd was at most at revision %d by then", describeEvent(event), latest), event.RV)
		return
	case event.RV < w.bookmark || event.RV < w.high:
		w.violate(Bookmarked, i, fmt.Sprintf("%s came after RV %d", describeEvent(event), max(w.bookmark, w.high)), event.RV, max(w.bookmark, w.high))
		return
	}
	w.bookmark = event.RV
	first, count := -1, 0
	for ; w.proved < len(w.owed) && w.owed[w.proved].RV <= event.RV; w.proved++ {
		if w.has(w.proved) {
			continue
		}
		if count++; first < 0 {
			first = w.proved
		}
		w.promised = append(w.promised, w.proved)
	}
	if count > 0 {
		w.violate(Bookmarked, i, fmt.Sprintf("%s came, but %d events up to it had not arrived, the first being %s",
			describeEvent(event), count, describeTransition(&w.owed[first])), w.owed[first].RV)
	}
}

// reportPromised reports as gaps what a bookmark promised and the stream never
// delivered.
func (w *walk) reportPromised() {
	for _, k := range w.promised {
		if !w.has(k) {
			w.violateBlock(Reliable, fmt.Sprintf("%s never arrived, but a bookmark beyond it did", describeTransition(&w.owed[k])), w.owed[k].RV)
		}
	}
}

// violate reports a violation by one event.
func (w *walk) violate(guarantee *Guarantee, event int, text string, rvs ...int64) {
	w.broken = true
	witness := w.witness(rvs...)
	witness.Events = []*model.Event{&w.stream.Events[event]}
	w.check.violate(guarantee, witness, describeStream(w.stream)+": "+text)
}

// violateBlock reports a violation that no single event stands for.
func (w *walk) violateBlock(guarantee *Guarantee, text string, rvs ...int64) {
	w.broken = true
	w.check.violate(guarantee, w.witness(rvs...), describeStream(w.stream)+": "+text)
}

func (w *walk) witness(rvs ...int64) Witness {
	return Witness{Client: w.stream.Client, Stream: w.stream.ID, RVs: rvs}
}
