package linearizability

import (
	"cmp"
	"slices"
	"sort"

	"github.com/watchsim/watchsim/model"
)

// write is a write that took effect, and the RV of its change.
type write struct {
	op *model.Operation
	rv int64
}

// bounds says what etcd's revision can have been at a simulated time. A history has
// no commit times, but a write takes effect after it is called and, if it is
// acknowledged, before it returns; and a change that anybody has observed is
// committed, whether or not the outcome of the write is known.
type bounds struct {
	returns  model.Staircase // of acknowledged writes
	calls    []model.Moment  // by RV ascending; Time is the latest up to there
	revision int64
	// shown are the events and reads with a higher RV than any before them.
	shown model.Staircase
	// own are the responses to each client that had no concurrent operations.
	own map[string][]model.Moment
}

func newBounds(writes []write, history *model.History) bounds {
	b := bounds{revision: history.Truth.Revision}
	var returns []model.Moment
	for _, w := range writes {
		if !w.op.Lost() {
			returns = append(returns, model.Moment{Time: w.op.Return, RV: w.rv, Operation: w.op})
		}
		b.calls = append(b.calls, model.Moment{Time: w.op.Call, RV: w.rv})
	}
	b.returns = model.NewStaircase(returns)
	slices.SortFunc(b.calls, func(a, b model.Moment) int { return cmp.Compare(a.RV, b.RV) })
	for i := 1; i < len(b.calls); i++ {
		b.calls[i].Time = max(b.calls[i].Time, b.calls[i-1].Time)
	}
	b.own = b.ownAnswers(writes, history)
	b.shown = b.sightings(history)
	return b
}

// minRVFor returns minRV for the call of an operation. If the client has no concurrent
// operations, those that returned at the very time of the call count as well, because the
// client calls one after the other.
func (b bounds) minRVFor(op *model.Operation) (int64, *model.Operation) {
	rv, before := b.minRV(op.Call)
	own := b.own[op.Client]
	for i := sort.Search(len(own), func(i int) bool { return own[i].Time >= op.Call }); i < len(own) && own[i].Time == op.Call; i++ {
		if own[i].RV > rv && precedes(own[i].Operation, op) {
			rv, before = own[i].RV, own[i].Operation
		}
	}
	return rv, before
}

// minRV returns the highest RV that had been acknowledged before time, and the
// write that made it; 0 and nil if there is none. A write that returned at that
// very time does not count: intervals are closed, so it is concurrent.
func (b bounds) minRV(time int64) (int64, *model.Operation) {
	last, _ := b.returns.Before(time)
	return last.RV, last.Operation
}

// maxRV returns the highest revision that etcd can have reached by time: every write
// called later has a higher one.
func (b bounds) maxRV(time int64) int64 {
	i := sort.Search(len(b.calls), func(i int) bool { return b.calls[i].Time > time })
	if i == len(b.calls) {
		return b.revision
	}
	return min(b.revision, b.calls[i].RV-1)
}

// notBefore returns the earliest time at which etcd can have reached a revision:
// when the last of the writes up to that revision was called.
func (b bounds) notBefore(rv int64) int64 {
	i := sort.Search(len(b.calls), func(i int) bool { return b.calls[i].RV > rv })
	if i == 0 {
		return 0
	}
	return b.calls[i-1].Time
}
