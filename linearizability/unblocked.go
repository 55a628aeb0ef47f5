package linearizability

import (
	"slices"
	"time"

	"github.com/watchsim/watchsim/model"
)

// unblockedBound allows for the network, which takes up to 200 ms a hop. In addition,
// blocked watchers may hold up a cacher's dispatch for its time budget, which is
// 100 ms at most (maxBudget) and grows by 50 ms a second (refreshPerSecond). Then
// they are closed.
const unblockedBound = 2 * time.Second

// caughtUp is the fraction of the bound within which events arrive on a stream without
// a backlog.
const caughtUp = 4

// idlers has the sorted times at which streams of slow and stalled consumers of one
// server began and ended.
type idlers struct{ begins, ends []int64 }

// open returns how many were open at a time.
func (d *idlers) open(time int64) int {
	begun, _ := slices.BinarySearch(d.begins, time+1)
	ended, _ := slices.BinarySearch(d.ends, time+1)
	return begun - ended
}

// idle reports whether a stream opened whose consumer was slow or stalled.
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

// judgeDelays judges Unblocked by the time from the acknowledgement of a write to the
// arrival of its event at a fast consumer, while another consumer of the same server
// is slow or stalled.
//
// The rule applies after the run has settled: before that, a fault can cause a
// delay. It judges only events that arrive. Delivered and Reliable judge those that
// never do.
func judgeDelays(f *facts, out *findings) {
	acknowledged, idlers := f.claims.acknowledged(), f.newIdlers()
	bound := f.config.UnblockedBound.Nanoseconds()
	for s := range model.Each(f.history.Streams) {
		inTheWay := idlers[s.Server]
		if inTheWay == nil || s.Consumer != fastConsumer || s.Return == model.Pending {
			continue
		}
		// A stream may begin with a backlog, which takes time on the wire. Until an
		// event has arrived well in time, each is due when the one before it has
		// arrived: events at the end of the backlog are less and less late.
		current, before := false, s.Return
		for event := range model.Each(s.Events) {
			op, previous := acknowledged[event.RV], before
			before = event.Time
			// Writes before the stream opened may be part of its start.
			if op == nil || op.Return < max(f.settled, s.Return) || !event.IsData() || inTheWay.open(op.Return) == 0 {
				continue
			}
			since, due := op.Return, op.Return
			if !current {
				due = max(since, previous)
			}
			out.judged.Unblocked++
			// Initial events are not ordered by RV, and more of them may be on the wire.
			current = current || event.Time-since <= bound/caughtUp && !(s.Watch().HasBlock() && event.Type == model.Added)
			if event.Time-due > bound {
				out.violate(Unblocked, lateEvent, onStream(s, event.RV).showing(event).got(event.Time-since).since(since).want(bound).
					proof(f.idlerAt(s.Server, since), nil))
			}
		}
	}
}

// idlerAt returns the open stream of a slow or stalled consumer, nil if there was none.
func (f *facts) idlerAt(server string, time int64) *model.Stream {
	for s := range model.Each(f.history.Streams) {
		if s.Server == server && idle(s) && s.Return <= time && (s.Closed == model.Pending || s.Closed > time) {
			return s
		}
	}
	return nil
}
