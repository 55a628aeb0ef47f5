package linearizability

import (
	"slices"
	"time"

	"github.com/watchsim/watchsim/model"
)

// unblockedBound is for the network, which takes up to 200 ms a hop. On top of
// that, blocked watchers may hold up a cacher's dispatch for what its time budget
// has saved up, 100 ms at the most (maxBudget), which grows by 50 ms a second
// (refreshPerSecond). Then they are closed.
const unblockedBound = 2 * time.Second

// caughtUp is the part of the bound within which an event comes on a stream without a
// backlog.
const caughtUp = 4

// idlers knows when streams were open at one server that nobody read, or not in
// time: the sorted times of their beginnings and ends.
type idlers struct{ begins, ends []int64 }

// open returns how many were open at a time.
func (d *idlers) open(time int64) int {
	begun, _ := slices.BinarySearch(d.begins, time+1)
	ended, _ := slices.BinarySearch(d.ends, time+1)
	return begun - ended
}

// idle reports whether a stream was open that nobody read, or not in time.
func idle(s *model.Stream) bool {
	return s.Err == model.OK && s.Return != model.Pending && !readsInTime(s)
}

// newIdlers finds the streams of slow and stalled consumers, by server.
func (f *facts) newIdlers() map[string]*idlers {
	all := map[string]*idlers{}
	for s := range model.Each(f.history.Streams) {
		if !idle(s) {
			continue
		}
		d := all[s.Server]
		if d == nil {
			d = &idlers{}
			all[s.Server] = d
		}
		d.begins = append(d.begins, s.Return)
		if s.Closed != model.Pending {
			d.ends = append(d.ends, s.Closed)
		}
	}
	for _, d := range all {
		slices.Sort(d.begins)
		slices.Sort(d.ends)
	}
	return all
}

// judgeDelays judges Unblocked by the time from the acknowledgement of a write
// to the arrival of its event at a client that reads at once, while another
// client of the same server does not read.
//
// The rule begins when the run has settled: before that, a delay can be the work
// of a fault. It speaks of events that arrive. One that never does is for
// Delivered and Reliable.
func judgeDelays(f *facts, out *findings) {
	acknowledged, idlers := f.claims.acknowledged(), f.newIdlers()
	bound := f.config.UnblockedBound.Nanoseconds()
	for s := range model.Each(f.history.Streams) {
		inTheWay := idlers[s.Server]
		if inTheWay == nil || s.Consumer != fastConsumer || s.Return == model.Pending {
			continue
		}
		// A stream may begin with a backlog, which takes its time on the wire. Until
		// an event has come well in time, each is due when the one before it has come:
		// at the end of the backlog events come ever less late.
		current, before := false, s.Return
		for event := range model.Each(s.Events) {
			op, previous := acknowledged[event.RV], before
			before = event.Time
			// What was written before the stream was open may be part of its start.
			if op == nil || op.Return < max(f.settled, s.Return) || !event.IsData() || inTheWay.open(op.Return) == 0 {
				continue
			}
			since, due := op.Return, op.Return
			if !current {
				due = max(since, previous)
			}
			out.judged.Unblocked++
			// The initial events are in no order, and more of them may be on the wire.
			current = current || event.Time-since <= bound/caughtUp && !(s.Watch().HasBlock() && event.Type == model.Added)
			if event.Time-due > bound {
				out.violate(Unblocked, lateEvent, onStream(s, event.RV).showing(event).got(event.Time-since).since(since).want(bound).
					proof(f.idlerAt(s.Server, since), nil))
			}
		}
	}
}

// idlerAt returns a stream that nobody read at a time, nil if there was none.
func (f *facts) idlerAt(server string, time int64) *model.Stream {
	for s := range model.Each(f.history.Streams) {
		if s.Server == server && idle(s) && s.Return <= time && (s.Closed == model.Pending || s.Closed > time) {
			return s
		}
	}
	return nil
}
