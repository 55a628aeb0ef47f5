package linearizability

import (
	"fmt"

	"github.com/watchsim/watchsim/model"
)

// watchOf returns what a stream asked for, but for what had been committed by then.
func watchOf(s *model.Stream) model.Watch {
	return model.Watch{Scope: s.Scope, Selector: s.Selector, RV: s.RV, Bookmarks: s.Bookmarks, InitialEvents: s.InitialEvents}
}

// hasBlock reports whether a watch begins with the state as synthetic ADDED
// events.
func hasBlock(s *model.Stream) bool { return watchOf(s).HasBlock() }

// asksForEnd reports whether the end of the block has to be marked.
func asksForEnd(s *model.Stream) bool { return watchOf(s).MustMark() }

// mayMarkEnd reports whether the end of the block may be marked.
func mayMarkEnd(s *model.Stream) bool { return watchOf(s).MayMark() }

// readBlock judges Initial and InitialEnd. It sets the RV the stream starts from
// and returns the index of the first event after the block.
func (w *walk) readBlock() int {
	w.check.counts.Blocks++
	if mayMarkEnd(w.stream) {
		for i := range w.stream.Events {
			if e := &w.stream.Events[i]; e.InitialEnd && e.Type == model.Bookmark {
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
	} else if mark.RV < 1 {
		w.violate(InitialEnd, end, fmt.Sprintf("%s, but no client can resume from there", describeEvent(mark)), mark.RV)
	}
	block := make([]*model.Object, 0, end)
	for i := range w.stream.Events[:end] {
		event := &w.stream.Events[i]
		if event.Type == model.Bookmark {
			w.violate(Bookmarked, i, fmt.Sprintf("%s came before the initial block was complete", describeEvent(event)), event.RV)
			continue
		}
		if event.Type != model.Error && !isData(event) {
			w.violate(Typed, i, fmt.Sprintf("an event of the unknown type %q came at RV %d", event.Type, event.RV), event.RV)
		}
		if event.Object != nil {
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

// reportBlock reports what is wrong with a block of the given number of events,
// given how their objects differ from the state at the stream's start.
func (w *walk) reportBlock(size int, differences []difference) {
	for i := range w.stream.Events[:size] {
		event := &w.stream.Events[i]
		switch {
		case !isData(event):
		case event.Object == nil || event.Object.RV != event.RV:
			w.violate(Faithful, i, fmt.Sprintf("%s carries no object at that RV", describeEvent(event)), event.RV)
		case event.RV > w.check.bounds.atMost(event.Time):
			w.reportTooEarly(i, event)
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
	w.broken = true
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
		if event.Type == model.Error {
			return // it may have come before the mark
		}
		if event.Type == model.Bookmark || event.Type == model.Modified || event.Type == model.Deleted {
			w.violate(InitialEnd, i, fmt.Sprintf("%s came, but nothing has marked the end of the initial block", describeEvent(event)), event.RV)
			return
		}
	}
	if w.judged() {
		w.violateBlock(InitialEnd, "nothing has marked the end of the initial block")
	}
}
