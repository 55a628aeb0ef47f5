package linearizability

import (
	"fmt"
	"math"

	"github.com/watchsim/watchsim/model"
)

// hasBlock reports whether a watch begins with the state as synthetic ADDED
// events.
func hasBlock(s *model.Stream) bool {
	return s.InitialEvents || s.RV == 0 || s.RV == model.RVUnset
}

// asksForEnd reports whether the end of the block has to be marked.
func asksForEnd(s *model.Stream) bool { return s.InitialEvents && s.Bookmarks }

// readBlock judges Initial and InitialEnd. It sets the RV the stream starts from
// and returns the index of the first event after the block.
func (w *walk) readBlock() int {
	w.check.counts.Blocks++
	if asksForEnd(w.stream) {
		for i := range w.stream.Events {
			if w.stream.Events[i].InitialEnd {
				w.readMarkedBlock(i)
				return i + 1
			}
		}
	}
	return w.readUnmarkedBlock()
}

// readMarkedBlock judges a block whose end is marked by the given event: it must
// be the state at the mark's RV.
func (w *walk) readMarkedBlock(end int) {
	mark := &w.stream.Events[end]
	w.start, w.bookmark = mark.RV, mark.RV
	if latest := w.check.bounds.atMost(mark.Time); mark.RV > latest {
		w.violate(InitialEnd, end, fmt.Sprintf("%s, but etcd was at most at revision %d by then", describeEvent(mark), latest), mark.RV)
	}
	block := make([]*model.Object, 0, end)
	for i := range w.stream.Events[:end] {
		event := &w.stream.Events[i]
		switch {
		case event.Type == model.Bookmark:
			w.violate(Bookmarked, i, fmt.Sprintf("%s came before the initial block was complete", describeEvent(event)), event.RV)
		case event.Object != nil:
			block = append(block, event.Object)
		}
	}
	w.late = map[model.Key]int64{}
	var differences []difference
	for _, d := range compareStates(w.check.store.List(w.stream.Scope, w.stream.Selector, w.start), block) {
		if d.flaw == missing && w.arrivesLate(d.want, end) {
			w.late[d.want.Key()] = d.want.RV
			continue
		}
		differences = append(differences, d)
	}
	if len(w.late) > 0 {
		w.violate(InitialEnd, end, fmt.Sprintf("%s came while %d objects of the block were still to come", describeEvent(mark), len(w.late)), mark.RV)
	}
	w.reportBlock(end, differences)
	w.checkBlockFreshness()
}

// arrivesLate reports whether an object of the block comes after the mark of the
// block's end.
func (w *walk) arrivesLate(object *model.Object, end int) bool {
	for i := range w.stream.Events[end+1:] {
		event := &w.stream.Events[end+1+i]
		if event.Type == model.Added && event.RV == object.RV && event.Object != nil && event.Object.Key() == object.Key() {
			return true
		}
	}
	return false
}

// readUnmarkedBlock finds where a block without a mark ends. The block says at
// which RV it was taken by its content alone, and often fits several: an object
// that was created and deleted again leaves no trace. Any RV will do that fits
// what came after the block; the highest is taken, which asks the least of the
// stream afterwards.
func (w *walk) readUnmarkedBlock() int {
	events := w.stream.Events
	data := 0 // the events before the first BOOKMARK or ERROR
	for data < len(events) && isData(&events[data]) && events[data].Object != nil {
		data++
	}
	defer w.checkMarkMissing()

	objects := make([]*model.Object, data)
	highest := make([]int64, data+1) // the highest RV among the first events
	allAdded := 0
	for i := range objects {
		objects[i] = events[i].Object
		highest[i+1] = max(highest[i], events[i].RV)
		if allAdded == i && events[i].Type == model.Added {
			allAdded = i + 1
		}
	}
	oldest := w.oldestAsked()
	if size, ok := w.acceptBlock(objects, highest, allAdded, allAdded, oldest); ok {
		return size
	}
	// A stream that ended within its block is not to be taken for one that
	// began with an empty state and lost the rest.
	ended := data == len(events) || events[data].Type == model.Error
	if ended && allAdded == data && w.isPartialBlock(objects, oldest) {
		w.partial = true
		w.start = w.latestAt(data)
		return data
	}
	// Events of the wrong type, or a state that is too old, are let in only if
	// there is no other way.
	for _, try := range []struct {
		largest int
		oldest  int64
	}{{allAdded - 1, oldest}, {data, oldest}, {allAdded, 0}} {
		if size, ok := w.acceptBlock(objects, highest, 0, try.largest, try.oldest); ok {
			return size
		}
	}
	return w.reportNoState(objects, highest)
}

// oldestAsked returns the lowest RV that the block may be at. A watch without an
// RV and without sendInitialEvents should be at the newest, by the documentation,
// but is not held to it: Kubernetes' cacher serves it from any state it has
// (getWatchCacheResourceVersion calls it the legacy case).
func (w *walk) oldestAsked() int64 {
	if !w.stream.InitialEvents {
		return 0
	}
	if w.stream.RV == model.RVUnset {
		rv, _ := w.check.bounds.atLeast(w.stream.Call)
		return rv
	}
	return w.stream.RV
}

// acceptBlock takes the first events for the block, as many as possible within
// the given limits, if they are the state at some RV that is not below oldest.
func (w *walk) acceptBlock(objects []*model.Object, highest []int64, smallest, largest int, oldest int64) (size int, ok bool) {
	for size := largest; size >= smallest; size-- {
		if rv, differences, ok := w.findState(objects[:size], max(oldest, highest[size])); ok {
			w.start = rv
			w.reportBlock(size, differences)
			w.checkBlockFreshness()
			return size, true
		}
	}
	return 0, false
}

// latestAt returns the highest RV that a block of the given size can have been
// taken at, going by what came next and when.
func (w *walk) latestAt(size int) int64 {
	events := w.stream.Events
	latest := w.check.history.Truth.Revision
	if size > 0 {
		latest = min(latest, w.check.bounds.atMost(events[size-1].Time))
	}
	if size == len(events) {
		if w.stream.Closed != model.Pending {
			latest = min(latest, w.check.bounds.atMost(w.stream.Closed))
		}
		return latest
	}
	latest = min(latest, w.check.bounds.atMost(events[size].Time))
	switch next := &events[size]; {
	case next.Type == model.Bookmark:
		latest = min(latest, next.RV)
	case isData(next):
		latest = min(latest, next.RV-1)
	}
	return latest
}

// findState returns the highest RV at which the matching state is exactly these
// objects and that the rest of the stream allows. Objects may be altered: that
// is for the caller to report.
func (w *walk) findState(objects []*model.Object, lowest int64) (rv int64, altered []difference, found bool) {
	latest := w.latestAt(len(objects))
	if latest < lowest {
		return 0, nil, false
	}
	if altered, found = w.isState(objects, latest); found {
		return latest, altered, true
	}
	owed := w.check.store.Owed(w.stream.Scope, w.stream.Selector, lowest, latest)
	for i := len(owed) - 1; i >= 0; i-- {
		if altered, found = w.isState(objects, owed[i].RV-1); found {
			return owed[i].RV - 1, altered, true
		}
	}
	return 0, nil, false
}

// isState reports whether these are the objects of the matching state at rv, and
// which of them are altered.
func (w *walk) isState(objects []*model.Object, rv int64) ([]difference, bool) {
	for _, object := range objects {
		// A cheaper look than the list below, for the many RVs that do not fit.
		if version, known := w.check.store.VersionAt(object.Key(), rv); !known || version.RV != object.RV {
			return nil, false
		}
	}
	differences := compareStates(w.check.store.List(w.stream.Scope, w.stream.Selector, rv), objects)
	for _, d := range differences {
		if d.flaw != altered {
			return nil, false
		}
	}
	return differences, true
}

// isPartialBlock reports whether a stream that ended early had sent only objects
// that were all current at one RV not below oldest.
func (w *walk) isPartialBlock(objects []*model.Object, oldest int64) bool {
	from, until := oldest, int64(math.MaxInt64)
	seen := map[model.Key]bool{}
	for _, object := range objects {
		version, known := w.check.store.VersionAt(object.Key(), object.RV)
		if !known || seen[object.Key()] || !version.Object.Equal(object) ||
			!w.stream.Scope.Contains(object.Key()) || !w.stream.Selector.Matches(object) {
			return false
		}
		seen[object.Key()] = true
		from, until = max(from, version.RV), min(until, version.Until)
	}
	return from < until
}

// guessesTried limits how many ends of a broken block are tried for the report.
const guessesTried = 8

// reportNoState reports a block that is the state at no RV, by what it lacks at
// the RV that it comes nearest to.
func (w *walk) reportNoState(objects []*model.Object, highest []int64) int {
	best, size := []difference(nil), -1
	tried := 0
	for end := len(objects); end >= 0 && tried < guessesTried; end-- {
		latest := w.latestAt(end)
		if latest < highest[end] {
			continue
		}
		tried++
		for _, rv := range []int64{latest, highest[end]} {
			differences := compareStates(w.check.store.List(w.stream.Scope, w.stream.Selector, rv), objects[:end])
			if size < 0 || len(differences) < len(best) {
				best, size, w.start = differences, end, rv
			}
		}
	}
	if size < 0 {
		size, w.start = len(objects), highest[len(objects)]
		best = compareStates(w.check.store.List(w.stream.Scope, w.stream.Selector, w.start), objects)
	}
	w.reportBlock(size, best)
	return size
}

// reportBlock reports what is wrong with a block of the given number of events,
// given how their objects differ from the state at the stream's start.
func (w *walk) reportBlock(size int, differences []difference) {
	for i := range w.stream.Events[:size] {
		event := &w.stream.Events[i]
		switch {
		case !isData(event):
		case event.Object == nil || event.Object.RV != event.RV:
			w.violate(Faithful, i, fmt.Sprintf("%s carries no object at that RV", describeEvent(event)), event.RV)
		case event.Type != model.Added:
			w.violate(Initial, i, fmt.Sprintf("%s is in the initial block, which holds only ADDED", describeEvent(event)), event.RV)
		}
	}
	if len(differences) == 0 {
		return
	}
	found := map[*Guarantee][]difference{}
	for _, d := range differences {
		guarantee := Initial
		switch {
		case d.flaw == foreign && !w.stream.Scope.Contains(d.got.Key()):
			guarantee = Scoped
		case d.flaw == doubled:
			guarantee = Unique
		case d.flaw == altered:
			guarantee = Faithful
		}
		found[guarantee] = append(found[guarantee], d)
	}
	for _, guarantee := range []*Guarantee{Initial, Scoped, Unique, Faithful} {
		if of := found[guarantee]; len(of) > 0 {
			w.violateBlock(guarantee, fmt.Sprintf("the initial block of %d events is not the state at RV %d: %s",
				size, w.start, describeDifferences(of)), rvs(of)...)
		}
	}
}

// checkBlockFreshness judges whether the block is as new as was asked for.
func (w *walk) checkBlockFreshness() {
	oldest := w.oldestAsked()
	if w.start >= oldest {
		return
	}
	text, witness := describeStream(w.stream)+fmt.Sprintf(": the initial block is at RV %d, older than was asked for", w.start), w.witness(w.start, oldest)
	if rv, before := w.check.bounds.atLeast(w.stream.Call); w.stream.RV == model.RVUnset {
		witness.Operations = []*model.Operation{before}
		text += fmt.Sprintf(": %s had returned with RV %d before", describeOperation(before), rv)
	}
	w.check.violate(Initial, witness, text)
}

// checkMarkMissing judges InitialEnd for a stream that asked for a mark and got
// none. It is certain only once something came that comes after the block.
func (w *walk) checkMarkMissing() {
	if !asksForEnd(w.stream) {
		return
	}
	for i := range w.stream.Events {
		event := &w.stream.Events[i]
		if event.Type == model.Bookmark || event.Type == model.Modified || event.Type == model.Deleted {
			w.violate(InitialEnd, i, fmt.Sprintf("%s came, but nothing has marked the end of the initial block", describeEvent(event)), event.RV)
			return
		}
	}
	if w.judged() {
		w.violateBlock(InitialEnd, "nothing has marked the end of the initial block")
	}
}
