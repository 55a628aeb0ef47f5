package linearizability

import (
	"slices"

	"github.com/watchsim/watchsim/model"
)

// readBlock judges Initial and InitialEnd. It sets the RV that the stream starts from
// and returns the index of the first event after the block, the initial events.
func (w *walk) readBlock() int {
	w.findings.judged.Blocks++
	if w.stream.Watch().MayMark() {
		for i := range w.stream.Events {
			if e := &w.stream.Events[i]; e.InitialEnd && e.Type == model.Bookmark {
				w.readMarkedBlock(i)
				return i + 1
			}
		}
	}
	return w.readUnmarkedBlock()
}

// readMarkedBlock judges a block whose end the given event marks: it must be the
// state at the mark's RV.
func (w *walk) readMarkedBlock(end int) {
	mark := &w.stream.Events[end]
	w.start, w.bookmark = mark.RV, mark.RV
	if latest := w.facts.bounds.maxRV(mark.Time); mark.RV > latest {
		w.violate(InitialEnd, futureEvent, w.at(end, mark.RV).want(latest))
	} else if mark.RV < 1 {
		w.violate(InitialEnd, withoutRV, w.at(end, mark.RV))
	}
	block := make([]*model.Object, 0, end)
	for i := range w.stream.Events[:end] {
		event := &w.stream.Events[i]
		if event.Type == model.Bookmark {
			w.violate(Bookmarked, bookmarkInBlock, w.at(i, event.RV))
			continue
		}
		if event.Type != model.Error && !event.IsData() {
			w.violate(Typed, unknownType, w.at(i, event.RV))
		}
		if event.Object != nil {
			block = append(block, event.Object)
		}
	}
	w.late = map[model.Key]int64{}
	var differences []Difference
	for _, d := range compareStates(w.facts.store.List(w.stream.Scope, w.stream.Selector, w.start), block) {
		if d.Flaw == Missing && w.arrivesLate(d.Want, end) {
			w.late[d.Want.Key()] = d.Want.RV
			continue
		}
		differences = append(differences, d)
	}
	if len(w.late) > 0 {
		w.violate(InitialEnd, markEarly, w.at(end, mark.RV).got(int64(len(w.late))))
	}
	w.reportBlock(end, differences)
	w.judgeBlockFreshness()
}

// arrivesLate reports whether an object of the block arrives after the mark of the
// block's end.
func (w *walk) arrivesLate(object *model.Object, end int) bool {
	return slices.ContainsFunc(w.stream.Events[end+1:], func(event model.Event) bool {
		return event.Type == model.Added && event.RV == object.RV && event.Object != nil && event.Object.Key() == object.Key()
	})
}

// asked returns the watch that the client requested, with what was committed by then.
func (w *walk) asked() model.Watch {
	watch := w.stream.Watch()
	watch.Committed = w.facts.bounds.reached(w.stream.Call)
	return watch
}

// reportBlock reports what is wrong with a block of the given size, given how its
// objects differ from the state at the stream's start.
func (w *walk) reportBlock(size int, differences []Difference) {
	for i := range w.stream.Events[:size] {
		event := &w.stream.Events[i]
		switch {
		case !event.IsData():
		case event.Object == nil || event.Object.RV != event.RV:
			w.violate(Faithful, withoutObject, w.at(i, event.RV))
		case event.RV > w.facts.bounds.maxRV(event.Time):
			w.reportTooEarly(i, event)
		case event.Type != model.Added:
			w.violate(Initial, notAdded, w.at(i, event.RV))
		}
	}
	found := map[*Guarantee][]Difference{}
	for _, d := range differences {
		guarantee := Initial
		switch {
		case d.Flaw == Foreign && !w.stream.Scope.Contains(d.Got.Key()):
			guarantee = Scoped
		case d.Flaw == Doubled:
			guarantee = Unique
		case d.Flaw == Altered:
			guarantee = Faithful
		}
		found[guarantee] = append(found[guarantee], d)
	}
	for _, guarantee := range []*Guarantee{Initial, Scoped, Unique, Faithful} {
		if of := found[guarantee]; len(of) > 0 {
			w.violate(guarantee, wrongBlock, onStream(w.stream, rvs(of)...).want(w.start).got(int64(size)).differing(of...))
		}
	}
}

// judgeBlockFreshness judges whether the block is as new as requested.
func (w *walk) judgeBlockFreshness() {
	oldest := w.asked().Oldest()
	if w.start >= oldest {
		return
	}
	witness := onStream(w.stream, w.start, oldest).got(w.start).want(oldest)
	if acknowledged, before := w.facts.bounds.minRV(w.stream.Call); w.stream.RV == model.RVUnset && acknowledged >= oldest {
		witness.Operations = []*model.Operation{before}
	} else if last, ok := w.facts.bounds.shown.Before(w.stream.Call); w.stream.RV == model.RVUnset && ok {
		witness = witness.proof(last.Stream, last.Event)
	}
	w.violate(Initial, oldBlock, witness)
}

// judgeMarkMissing judges InitialEnd for a stream that requested a mark and received
// none. That is certain only if something arrived that follows the block.
func (w *walk) judgeMarkMissing() {
	if !w.stream.Watch().MustMark() {
		return
	}
	for i := range w.stream.Events {
		event := &w.stream.Events[i]
		if event.Type == model.Error {
			return // it may precede the mark
		}
		if event.Type == model.Bookmark || event.Type == model.Modified || event.Type == model.Deleted {
			w.violate(InitialEnd, markMissing, w.at(i, event.RV))
			return
		}
	}
	if w.judged() {
		w.violate(InitialEnd, markMissing, onStream(w.stream))
	}
}

// judgeMarkOverdue judges InitialEnd for a stream that received only ADDED events and
// no mark. The block was taken before its first event arrived, so later writes are not
// in it, and their events must follow the mark. The specification of a stream does not
// check this.
func (w *walk) judgeMarkOverdue(out *findings) {
	if !w.stream.Watch().MustMark() || w.broken() {
		return
	}
	for i := range w.stream.Events {
		event := &w.stream.Events[i]
		if event.Type != model.Added {
			return
		}
		if w.facts.bounds.notBefore(event.RV) > w.stream.Events[0].Time {
			out.violate(InitialEnd, markMissing, w.at(i, event.RV))
			return
		}
	}
}
