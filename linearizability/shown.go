package linearizability

import (
	"cmp"
	"maps"
	"slices"

	"github.com/watchsim/watchsim/model"
)

// sightings returns the RVs that clients were shown, and those at which etcd or a cache was
// sampled, as a staircase of the highest RV that etcd had reached by a time. What cannot
// have been committed by then proves nothing, and other rules report it.
func (b bounds) sightings(history *model.History) model.Staircase {
	first := map[int64]model.Moment{} // by RV
	note := func(m model.Moment) {
		if known, ok := first[m.RV]; m.RV > 0 && (!ok || m.Time < known.Time) && m.RV <= b.maxRV(m.Time) {
			first[m.RV] = m
		}
	}
	for s := range model.Each(history.Streams) {
		for event := range model.Each(s.Events) {
			if event.Type != model.Error {
				note(model.Moment{Time: event.Time, RV: event.RV, Stream: s, Event: event})
			}
		}
	}
	for op := range model.Each(history.Operations) {
		note(model.Moment{Time: op.Return, RV: readAt(op), Operation: op})
	}
	for _, census := range history.Censuses {
		note(model.Moment{Time: census.Time, RV: census.Revision})
	}
	for _, window := range history.Windows {
		note(model.Moment{Time: window.Time, RV: window.Newest})
	}
	return model.NewStaircase(slices.Collect(maps.Values(first)))
}

// readAt returns the RV that a read returned, 0 for other operations or if it returned none.
func readAt(op *model.Operation) int64 {
	switch {
	case op.IsWrite() || op.Lost() || op.Err != model.OK:
		return 0
	case op.Kind == model.Get:
		return objectRV(op)
	}
	return op.ResultRV
}

// reachedBefore returns an RV that etcd had certainly reached before an operation was
// called: what reached returns, or what the same client received at that very time.
func (b bounds) reachedBefore(op *model.Operation) int64 {
	rv, _ := b.minRVFor(op)
	return max(rv, b.reached(op.Call))
}

// reached returns an RV that etcd had certainly reached before a time: one that had
// been acknowledged, or that anybody had observed.
func (b bounds) reached(time int64) int64 {
	rv, _ := b.minRV(time)
	if last, ok := b.shown.Before(time); ok {
		rv = max(rv, last.RV)
	}
	return rv
}

// mayHaveMade reports whether a write can have made the change at an RV, given the
// times of its call and its response.
func (b bounds) mayHaveMade(op *model.Operation, rv int64) bool {
	return rv > b.reached(op.Call) && (op.Lost() || rv <= b.maxRV(op.Return))
}

// judgeUnseen judges an operation that must be at the newest RV: whether anybody had
// observed a later one before it was called.
func (f *facts) judgeUnseen(guarantee *Guarantee, op *model.Operation, rv int64, out *findings) {
	if last, ok := f.bounds.shown.Before(op.Call); ok && rv < last.RV {
		out.violate(guarantee, unseenRead, about(op, rv, last.RV).afterSeeing(last))
	}
}

// ownAnswers returns the acknowledged writes and the reads of each client that never
// had concurrent operations, in order of their returns.
func (b bounds) ownAnswers(writes []write, history *model.History) map[string][]model.Moment {
	last := map[string]*model.Operation{}
	parallel := map[string]bool{}
	operations := slices.SortedStableFunc(model.Each(history.Operations), func(a, b *model.Operation) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.Return, b.Return))
	})
	for _, op := range operations {
		before := last[op.Client]
		if before != nil && (before.Return == model.Pending || before.Return > op.Call) {
			parallel[op.Client] = true
		}
		last[op.Client] = op
	}
	own := map[string][]model.Moment{}
	for _, op := range operations {
		if rv := readAt(op); rv > 0 && rv <= b.maxRV(op.Return) && !parallel[op.Client] {
			own[op.Client] = append(own[op.Client], model.Moment{Time: op.Return, RV: rv, Operation: op})
		}
	}
	for _, w := range writes {
		if !w.op.Lost() && !parallel[w.op.Client] {
			own[w.op.Client] = append(own[w.op.Client], model.Moment{Time: w.op.Return, RV: w.rv, Operation: w.op})
		}
	}
	for _, moments := range own {
		slices.SortFunc(moments, func(a, b model.Moment) int { return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.RV, b.RV)) })
	}
	return own
}

// precedes reports whether, of two operations of a client without concurrent ones, the
// first had returned when the second was called. Those that took no time are in the
// order in which they were recorded.
func precedes(first, second *model.Operation) bool {
	return first != second && first.Return <= second.Call && (first.Call < second.Return || first.ID < second.ID)
}
