package linearizability

import (
	"time"

	"github.com/watchsim/watchsim/model"
)

// unblockedBound is how long the event of an acknowledged write may take to reach a fast
// consumer while another is slow or stalled. It allows for the network, which takes up to 200 ms a hop. In addition,
// blocked watchers may hold up a cacher's dispatch for its time budget, which is
// 100 ms at most (maxBudget) and grows by 50 ms a second (refreshPerSecond). Then
// they are closed.
const unblockedBound = 2 * time.Second

// caughtUp is the fraction of the bound within which events arrive on a stream without
// a backlog.
const caughtUp = 4

// idlers are the streams of slow and stalled consumers, by server.
type idlers map[string][]*model.Stream

func newIdlers(history *model.History) idlers {
	all := idlers{}
	for s := range model.Each(history.Streams) {
		if s.Err == model.OK && s.Return != model.Pending && !readsInTime(s) {
			all[s.Server] = append(all[s.Server], s)
		}
	}
	return all
}

// openAt returns the first of a server that was open at a time, nil if there was none.
func (all idlers) openAt(server string, time int64) *model.Stream {
	for _, s := range all[server] {
		if s.Return <= time && (s.Closed == model.Pending || s.Closed > time) {
			return s
		}
	}
	return nil
}

// judgeDelays judges Unblocked by the time from the acknowledgement of a write to the
// arrival of its event at a fast consumer, while another consumer of the same server
// is slow or stalled.
//
// The rule applies after the run has settled: before that, a fault can cause a
// delay. It judges only events that arrive. Delivered and Reliable judge those that
// never do.
func judgeDelays(f *facts, out *findings) {
	acknowledged, idlers := f.claims.acknowledged(), newIdlers(f.history)
	bound := unblockedBound.Nanoseconds()
	for s := range model.Each(f.history.Streams) {
		if len(idlers[s.Server]) == 0 || s.Consumer != fastConsumer || s.Return == model.Pending {
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
			if op == nil || op.Return < max(f.settled, s.Return) || !event.IsData() {
				continue
			}
			inTheWay := idlers.openAt(s.Server, op.Return)
			if inTheWay == nil {
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
				out.violate(Unblocked, lateEvent, onStream(s, event.RV).showing(event).got(event.Time-since).since(since).want(bound).proof(inTheWay, nil))
			}
		}
	}
}
