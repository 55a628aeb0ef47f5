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

// newIdlers finds the streams of slow and stalled consumers, by server.
func (f *facts) newIdlers() map[string]*idlers {
	all := map[string]*idlers{}
	for i := range f.history.Streams {
		s := &f.history.Streams[i]
		if s.Err != model.OK || s.Return == model.Pending || readsInTime(s) {
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
	acknowledged := make(map[int64]int64, len(f.claims.writes))
	for _, w := range f.claims.writes {
		if w.acknowledged && w.op.Return >= f.settled {
			acknowledged[w.rv] = w.op.Return
		}
	}
	idlers := f.newIdlers()
	if len(acknowledged) == 0 || len(idlers) == 0 {
		return
	}
	bound := f.config.UnblockedBound.Nanoseconds()
	for i := range f.history.Streams {
		s := &f.history.Streams[i]
		inTheWay := idlers[s.Server]
		if inTheWay == nil || s.Consumer != fastConsumer || s.Return == model.Pending {
			continue
		}
		// A stream may begin with a backlog, which takes its time on the wire. Until
		// an event has come well in time, each is due when the one before it has come:
		// at the end of the backlog events come ever less late.
		current, before := false, s.Return
		for j := range s.Events {
			event := &s.Events[j]
			since, known := acknowledged[event.RV]
			due := since
			if !current {
				due = max(since, before)
			}
			before = event.Time
			// What was written before the stream was open may be part of its start.
			if !known || !event.IsData() || since < s.Return || inTheWay.open(since) == 0 {
				continue
			}
			out.judged.Unblocked++
			// The initial events are in no order, and more of them may be on the wire.
			current = current || event.Time-since <= bound/caughtUp && !(hasBlock(s) && event.Type == model.Added)
			if event.Time-due > bound {
				witness := onStream(s, event.RV).got(event.Time-since).want(bound).proof(f.idlerAt(s.Server, since), nil)
				witness.Events, witness.Since = []*model.Event{event}, since
				out.violate(Unblocked, lateEvent, witness)
			}
		}
	}
}

// idlerAt returns a stream that nobody read at a time, nil if there was none.
func (f *facts) idlerAt(server string, time int64) *model.Stream {
	for i := range f.history.Streams {
		s := &f.history.Streams[i]
		if s.Server == server && s.Err == model.OK && s.Return != model.Pending && !readsInTime(s) &&
			s.Return <= time && (s.Closed == model.Pending || s.Closed > time) {
			return s
		}
	}
	return nil
}
