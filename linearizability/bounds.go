package linearizability

import (
	"cmp"
	"slices"

	"github.com/watchsim/watchsim/model"
)

// write is a client's write that took effect, and the RV of its change.
type write struct {
	op *model.Operation
	rv int64
	// acknowledged says that the client was told, at op.Return.
	acknowledged bool
}

// bounds says what etcd's revision can have been at a simulated time. A history
// holds no commit times, but a write took effect after it was called and, if it
// was acknowledged, before it returned; and what anybody was shown had been
// committed by then, whether or not the outcome of the write is known.
type bounds struct {
	returns  []moment // by time ascending; rv is the highest up to there
	calls    []moment // by time ascending; rv is the lowest from there on
	commits  []moment // by rv ascending; time is the latest call up to there
	revision int64
	// shown are the events and reads that brought a higher RV than any before them.
	shown staircase
	// own are the answers to each client that had no two operations at a time.
	own map[string][]moment
}

type moment struct {
	time int64
	rv   int64
	op   *model.Operation
}

func newBounds(writes []write, history *model.History) bounds {
	b := bounds{revision: history.Truth.Revision}
	for _, w := range writes {
		if w.acknowledged {
			b.returns = append(b.returns, moment{time: w.op.Return, rv: w.rv, op: w.op})
		}
		b.calls = append(b.calls, moment{time: w.op.Call, rv: w.rv, op: w.op})
	}
	byTime := func(a, b moment) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.rv, b.rv)) }
	b.commits = slices.Clone(b.calls)
	slices.SortFunc(b.commits, func(a, b moment) int { return cmp.Compare(a.rv, b.rv) })
	for i := 1; i < len(b.commits); i++ {
		b.commits[i].time = max(b.commits[i].time, b.commits[i-1].time)
	}
	slices.SortFunc(b.returns, byTime)
	slices.SortFunc(b.calls, byTime)
	for i := 1; i < len(b.returns); i++ {
		if b.returns[i].rv < b.returns[i-1].rv {
			b.returns[i].rv, b.returns[i].op = b.returns[i-1].rv, b.returns[i-1].op
		}
	}
	for i := len(b.calls) - 2; i >= 0; i-- {
		if b.calls[i].rv > b.calls[i+1].rv {
			b.calls[i].rv, b.calls[i].op = b.calls[i+1].rv, b.calls[i+1].op
		}
	}
	b.own = b.ownAnswers(writes, history)
	b.shown = b.sightings(history)
	return b
}

// atLeastFor returns what atLeast does for the call of an operation, and counts the
// operations of the same client that returned at that very instant, where the client
// has no two at a time: its own are one after the other.
func (b bounds) atLeastFor(op *model.Operation) (int64, *model.Operation) {
	rv, before := b.atLeast(op.Call)
	own := b.own[op.Client]
	i, _ := slices.BinarySearchFunc(own, op.Call, func(m moment, time int64) int { return cmp.Compare(m.time, time) })
	for ; i < len(own) && own[i].time == op.Call; i++ {
		if own[i].rv > rv && precedes(own[i].op, op) {
			rv, before = own[i].rv, own[i].op
		}
	}
	return rv, before
}

// atLeast returns the highest RV that had been acknowledged before time, and the
// write it belongs to; 0 and nil if there is none. A write that returned at that
// very instant does not count: intervals are closed, so it is concurrent.
func (b bounds) atLeast(time int64) (int64, *model.Operation) {
	i, _ := slices.BinarySearchFunc(b.returns, time, func(m moment, time int64) int { return cmp.Compare(m.time, time) })
	if i == 0 {
		return 0, nil
	}
	return b.returns[i-1].rv, b.returns[i-1].op
}

// atMost returns the highest revision etcd can have reached by time: whatever
// was called after it has a higher one.
func (b bounds) atMost(time int64) int64 {
	i, _ := slices.BinarySearchFunc(b.calls, time, func(m moment, time int64) int {
		if m.time <= time {
			return -1
		}
		return 1
	})
	if i == len(b.calls) {
		return b.revision
	}
	return min(b.revision, b.calls[i].rv-1)
}

// notBefore returns the earliest time at which etcd can have reached a revision:
// when the last of the writes up to it was called.
func (b bounds) notBefore(rv int64) int64 {
	i, exact := slices.BinarySearchFunc(b.commits, rv, func(m moment, rv int64) int { return cmp.Compare(m.rv, rv) })
	if exact {
		i++
	}
	if i == 0 {
		return 0
	}
	return b.commits[i-1].time
}
