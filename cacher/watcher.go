package cacher

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	utilflowcontrol "k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/klog/v2"
)

const (
	// resultSize is how many events wait for the consumer in the result channel. It does not buffer
	// for slow consumers, which the log does: it saves switches between goroutines.
	resultSize = 10
	// readSize is how many events are read from the log at once.
	readSize = 32
)

// watcher is one watch: a cursor into the log.
//
// A goroutine runs while there is something to send, and then owns cursor, seen and result.
// Otherwise mu guards them.
type watcher struct {
	cacher *Cacher
	filter filter
	result chan watch.Event
	done   chan struct{} // closed when the watch ends

	start uint64 // nothing at or below this RV is delivered
	seen  uint64 // the highest RV that the consumer knows of
	// cursor is the position of the next event to look at.
	cursor uint64
	// lagFrom is when the watch had its initial state: for the budget of slow consumers no event
	// counts as older.
	lagFrom time.Time

	// The watcher's places among watchers, whose lock guards them.
	group       *group
	slot, place int

	bookmarks bookmarkSchedule

	mu      sync.Mutex
	running bool
	ended   bool
	// startsRunning says that there was something to send when the watch was registered.
	startsRunning bool
	// wakeUpTo is the position before which there may be something to send.
	wakeUpTo    uint64
	bookmarkDue bool
	detach      func() bool // releases the context
}

// ResultChan implements watch.Interface.
func (w *watcher) ResultChan() <-chan watch.Event { return w.result }

// Stop implements watch.Interface.
func (w *watcher) Stop() { w.end() }

// end stops sending and closes the result channel, at once if nothing is being sent.
func (w *watcher) end() {
	w.mu.Lock()
	if w.ended {
		w.mu.Unlock()
		return
	}
	w.ended = true
	close(w.done)
	idle, detach := !w.running, w.detach
	w.mu.Unlock()
	if detach != nil {
		detach()
	}
	w.cacher.watchers.remove(w)
	w.cacher.metrics.closed(w)
	if idle {
		close(w.result)
	}
}

// wake says that the events before end are available, and that none between where the watcher waits
// and first concerns it.
func (w *watcher) wake(first, end uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wakeUpTo = max(w.wakeUpTo, end)
	if !w.running && !w.ended {
		w.cursor = max(w.cursor, first)
		if w.cursor < end {
			w.running = true
			go w.run()
		}
	}
}

// wakeForBookmark requests a bookmark after all available events have been sent. None between where
// the watcher waits and the position concerns it.
func (w *watcher) wakeForBookmark(position uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bookmarkDue = true
	if !w.running && !w.ended {
		w.cursor = max(w.cursor, position)
		w.running = true
		go w.run()
	}
}

// begin sends the initial state, if any, and then what the log has.
func (w *watcher) begin(ctx context.Context, initial *initialState) {
	if initial != nil && !w.sendInitial(initial) {
		close(w.result)
		return
	}
	w.lagFrom = w.cacher.config.Clock.Now()
	utilflowcontrol.WatchInitialized(ctx)
	w.run()
}

// run sends until there is nothing left to send, or the watch ends.
func (w *watcher) run() {
	var batch [readSize]*event
	for {
		count, position, held := w.cacher.state.read(w.cursor, batch[:])
		if !held {
			w.fellBehind()
			return
		}
		measured := false
		for _, e := range batch[:count] {
			sent, open := w.send(e, !measured)
			measured = measured || sent
			if !open {
				close(w.result)
				return
			}
		}
		w.cursor += uint64(count)
		if position == 0 {
			continue // there is more
		}
		w.mu.Lock()
		switch {
		case w.ended:
			w.mu.Unlock()
			close(w.result)
			return
		case w.wakeUpTo > w.cursor:
			w.mu.Unlock()
		case w.bookmarkDue:
			w.bookmarkDue = false
			w.mu.Unlock()
			// Everything up to position has been sent. A bookmark at the client's own RV would be
			// of no use.
			if position > w.start && !w.sendBookmark(position, false) {
				close(w.result)
				return
			}
		default:
			w.running = false
			w.mu.Unlock()
			return
		}
	}
}

// send delivers an event if it is requested, and measures how long that took. It reports whether
// the event was delivered, and whether the watch is still open.
//
// Of a batch of events only the first delivered one is measured: reading the clock and counting
// would take as long as delivering.
func (w *watcher) send(e *event, measure bool) (sent, open bool) {
	if e.rv <= w.start {
		return false, true
	}
	converted, wanted := w.cacher.convert(e, &w.filter)
	if !wanted {
		return false, true
	}
	var built time.Time
	if measure {
		built = w.cacher.config.Clock.Now()
	}
	if !w.deliver(converted, e.received) {
		return false, false
	}
	w.seen = e.rv
	if measure {
		w.cacher.metrics.dispatched(e, built, w.cacher.config.Clock.Now())
	}
	return true, true
}

// deliver waits for the consumer, within the budget for an event received at that time, or without
// limit if the time is zero. Once the watch has ended nothing is delivered, so that no event is
// skipped before another.
func (w *watcher) deliver(e watch.Event, received time.Time) bool {
	select {
	case <-w.done:
		return false
	default:
	}
	select { // a send that need not wait is cheaper than a choice of two
	case w.result <- e:
		return true
	default:
	}
	if w.cacher.config.SlowConsumerBudget > 0 && !received.IsZero() {
		return w.deliverWithin(e, received)
	}
	select {
	case w.result <- e:
		return true
	case <-w.done:
		return false
	}
}

// fellBehind ends a watch whose events were evicted, with an error.
func (w *watcher) fellBehind() {
	w.cacher.metrics.terminated()
	w.cacher.metrics.stale()
	klog.V(1).InfoS("A watch ends, as it fell behind the window", w.identify()...)
	err := apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: the watch fell behind the events that are kept, at %d", w.seen))
	w.deliver(watch.Event{Type: watch.Error, Object: &err.ErrStatus}, time.Time{})
	w.end()
	close(w.result)
}

// nextBookmark returns when the watch gets its next bookmark after now; zero for never. The last
// one is sent shortly before the deadline.
func (w *watcher) nextBookmark(now time.Time) time.Time {
	next := now.Add(w.cacher.config.BookmarkPeriod)
	if deadline := w.bookmarks.deadline; !deadline.IsZero() {
		last := deadline.Add(-bookmarkBeforeDeadline)
		if !last.After(now) {
			return time.Time{}
		}
		if last.Before(next) {
			next = last
		}
	}
	return next
}

// deliverWithin waits for the consumer until the budget for an event received at that time is
// spent, and then ends the watch.
//
// It ends without an error. The consumer still gets what is in the result channel, and the window
// has what follows, so the client can resume from there.
func (w *watcher) deliverWithin(e watch.Event, received time.Time) bool {
	clock, budget := w.cacher.config.Clock, w.cacher.config.SlowConsumerBudget
	if received.Before(w.lagFrom) {
		received = w.lagFrom
	}
	if left := budget - clock.Since(received); left > 0 {
		timer := clock.NewTimer(left)
		defer timer.Stop()
		select {
		case w.result <- e:
			return true
		case <-w.done:
			return false
		case <-timer.C():
		}
	}
	w.cacher.metrics.terminated()
	klog.V(1).InfoS("A watch ends, as its consumer is too slow", append(w.identify(), "budget", budget)...)
	w.end()
	return false
}

// identify returns the log fields that identify the watch.
func (w *watcher) identify() []any {
	return []any{"resource", w.cacher.config.GroupResource, "key", w.filter.prefix, "labels", w.filter.label, "fields", w.filter.field, "resourceVersion", w.seen}
}
