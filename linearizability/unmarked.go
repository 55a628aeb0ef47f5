package linearizability

import (
	"math"
	"slices"

	"github.com/watchsim/watchsim/model"
)

// readUnmarkedBlock finds where a block without a mark ends. Only its content tells at
// which RV it was taken, and it often fits several: an object that was created and
// deleted again leaves no trace. Any RV is possible that fits the events after the
// block. The highest is chosen, which requires the fewest events of the rest of the
// stream.
//
// The ADDED events at the beginning of a correct stream are the state at the RV of the
// last of them, whether the last few belong to the block or follow it. If they are
// not, the stream ended within its block, or it is broken, and the explanation with
// the fewest faults is chosen.
func (w *walk) readUnmarkedBlock() int {
	defer w.judgeMarkMissing()
	events := w.stream.Events
	data, added := 0, 0 // the events before the first BOOKMARK or ERROR, and before any but ADDED
	for data < len(events) && events[data].IsData() && events[data].Object != nil {
		if added == data && events[data].Type == model.Added {
			added++
		}
		data++
	}
	objects := make([]*model.Object, data)
	highest := make([]int64, data+1) // the highest RV among the first events
	for i := range objects {
		objects[i] = events[i].Object
		highest[i+1] = max(highest[i], events[i].RV)
	}
	oldest := w.asked().Oldest()
	if rv, altered, found := w.findState(objects[:added], max(oldest, highest[added])); found {
		return w.takeBlock(blockEnd{size: added, rv: rv, differences: altered})
	}
	ended := data == len(events) || events[data].Type == model.Error
	if ended && added == data && w.isPartialBlock(data, oldest) {
		w.partial = true
		w.start = w.latestAt(data)
		return data
	}
	return w.takeBlock(w.leastFaulty(objects, highest))
}

// blockEnd is one explanation of a stream: its first size events are its block, with
// these differences from the state at rv.
type blockEnd struct {
	size        int
	rv          int64
	differences []Difference
}

func (w *walk) takeBlock(b blockEnd) int {
	w.start = b.rv
	if b.size > 0 {
		last := &w.stream.Events[b.size-1]
		if latest := w.facts.bounds.maxRV(last.Time); b.rv > latest {
			w.violate(Initial, futureBlock, w.at(b.size-1, b.rv).want(latest))
		}
	}
	w.reportBlock(b.size, b.differences)
	w.judgeBlockFreshness()
	return b.size
}

// leastFaulty returns the explanation of a broken stream with the fewest faults, and
// among equal ones that with the largest block.
func (w *walk) leastFaulty(objects []*model.Object, highest []int64) blockEnd {
	best, fewest := blockEnd{}, -1
	try := func(size int, rv int64, differences []Difference) {
		if faults := w.faults(size, rv, highest[len(objects)]) + len(differences); fewest < 0 || faults < fewest {
			best, fewest = blockEnd{size: size, rv: rv, differences: differences}, faults
		}
	}
	// No block has more than all objects that ever existed and one duplicate.
	for size := min(len(objects), len(w.facts.store.Keys())+1); size >= 0; size-- {
		for _, rv := range []int64{max(w.latestAt(size), highest[size]), highest[size]} {
			try(size, rv, compareStates(w.facts.store.List(w.stream.Scope, w.stream.Selector, rv), objects[:size]))
		}
	}
	return best
}

// faults counts what is wrong with a stream if its block has the given size and was
// taken at rv, apart from the block's content: events of the wrong type within it,
// changes missing after it, and a state older than requested.
func (w *walk) faults(size int, rv, last int64) int {
	count, after := 0, 0
	for i := range w.stream.Events {
		switch event := &w.stream.Events[i]; {
		case i < size && event.Type != model.Added:
			count++
		case i >= size && event.IsData():
			after++
		}
	}
	count += max(0, w.selection.count(rv, last)-after)
	if rv < w.asked().Oldest() {
		count++
	}
	return count
}

// latestAt returns the highest RV at which a block of the given size can have been
// taken, given the next event and its time.
func (w *walk) latestAt(size int) int64 {
	events := w.stream.Events
	latest := w.facts.history.Truth.Revision
	if size > 0 {
		latest = min(latest, w.facts.bounds.maxRV(events[size-1].Time))
	}
	if size == len(events) {
		if w.stream.Closed != model.Pending {
			latest = min(latest, w.facts.bounds.maxRV(w.stream.Closed))
		}
		return latest
	}
	latest = min(latest, w.facts.bounds.maxRV(events[size].Time))
	switch next := &events[size]; {
	case next.Type == model.Bookmark:
		latest = min(latest, next.RV)
	case next.IsData():
		latest = min(latest, next.RV-1)
	}
	return latest
}

// findState returns the highest RV at which the matching state is exactly these
// objects and that the rest of the stream allows. Objects may be altered; the caller
// reports that.
func (w *walk) findState(objects []*model.Object, lowest int64) (rv int64, altered []Difference, found bool) {
	latest := w.latestAt(len(objects))
	if latest < lowest {
		return 0, nil, false
	}
	if altered, found = w.isState(objects, latest); found {
		return latest, altered, true
	}
	owed := w.selection.owed
	for i := w.selection.after(latest) - 1; i >= 0 && owed[i].RV > lowest; i-- {
		if altered, found = w.isState(objects, owed[i].RV-1); found {
			return owed[i].RV - 1, altered, true
		}
	}
	return 0, nil, false
}

// isState reports whether these are the objects of the matching state at rv, and
// which of them are altered.
func (w *walk) isState(objects []*model.Object, rv int64) ([]Difference, bool) {
	if w.selection.sizeAt(rv) != len(objects) {
		return nil, false
	}
	for _, object := range objects {
		// A cheaper check than the list below, for the many RVs that do not fit.
		if version, known := w.facts.store.VersionAt(object.Key(), rv); !known || version.RV != object.RV {
			return nil, false
		}
	}
	differences := compareStates(w.facts.store.List(w.stream.Scope, w.stream.Selector, rv), objects)
	return differences, !slices.ContainsFunc(differences, func(d Difference) bool { return d.Flaw != Altered })
}

// isPartialBlock reports whether a stream that ended early had delivered, by its first size
// events, only objects that were all current at one RV not below oldest.
func (w *walk) isPartialBlock(size int, oldest int64) bool {
	from, until := oldest, int64(math.MaxInt64)
	seen := map[model.Key]bool{}
	for event := range model.Each(w.stream.Events[:size]) {
		object := event.Object
		version, known := w.facts.store.VersionAt(object.Key(), object.RV)
		if !known || object.RV != event.RV || object.RV > w.facts.bounds.maxRV(event.Time) || seen[object.Key()] || !version.Object.Equal(object) ||
			!w.stream.Scope.Contains(object.Key()) || !w.stream.Selector.Matches(object) {
			return false
		}
		seen[object.Key()] = true
		from, until = max(from, version.RV), min(until, version.Until)
	}
	return from < until
}
