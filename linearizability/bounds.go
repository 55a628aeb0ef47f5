package linearizability

import (
	"cmp"
	"slices"
	"sort"

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
	returns  staircase // of acknowledged writes
	calls    []moment  // by time ascending; rv is the lowest from there on
	commits  []moment  // by rv ascending; time is the latest call up to there
	revision int64
	// shown are the events and reads that brought a higher RV than any before them.
	shown staircase
	// own are the answers to each client that had no two operations at a time.
	own map[string][]moment
}

// moment says that something had reached an RV by a time, or not before it, and what shows
// that: an operation, or a stream and the event that brought the RV; no event for a stream
// that was refused, and nothing where somebody looked at etcd or at a cache.
type moment struct {
	time, rv int64
	op       *model.Operation
	stream   *model.Stream
	event    *model.Event
}

func byTime(a, b moment) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.rv, b.rv)) }

func newBounds(writes []write, history *model.History) bounds {
	b := bounds{revision: history.Truth.Revision}
	var returns []moment
	for _, w := range writes {
		if w.acknowledged {
			returns = append(returns, moment{time: w.op.Return, rv: w.rv, op: w.op})
		}
		b.calls = append(b.calls, moment{time: w.op.Call, rv: w.rv})
	}
	b.returns = newStaircase(returns)
	b.commits = slices.Clone(b.calls)
	slices.SortFunc(b.commits, func(a, b moment) int { return cmp.Compare(a.rv, b.rv) })
	for i := 1; i < len(b.commits); i++ {
		b.commits[i].time = max(b.commits[i].time, b.commits[i-1].time)
	}
	slices.SortFunc(b.calls, byTime)
	for i := len(b.calls) - 2; i >= 0; i-- {
		b.calls[i].rv = min(b.calls[i].rv, b.calls[i+1].rv)
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
	for i := sort.Search(len(own), func(i int) bool { return own[i].time >= op.Call }); i < len(own) && own[i].time == op.Call; i++ {
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
	last, _ := b.returns.before(time)
	return last.rv, last.op
}

// atMost returns the highest revision etcd can have reached by time: whatever
// was called after it has a higher one.
func (b bounds) atMost(time int64) int64 {
	i := sort.Search(len(b.calls), func(i int) bool { return b.calls[i].time > time })
	if i == len(b.calls) {
		return b.revision
	}
	return min(b.revision, b.calls[i].rv-1)
}

// notBefore returns the earliest time at which etcd can have reached a revision:
// when the last of the writes up to it was called.
func (b bounds) notBefore(rv int64) int64 {
	i := sort.Search(len(b.commits), func(i int) bool { return b.commits[i].rv > rv })
	if i == 0 {
		return 0
	}
	return b.commits[i-1].time
}
