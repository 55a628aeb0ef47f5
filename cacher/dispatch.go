package cacher

import "time"

// dispatchSize is how many events are dispatched at once. A watch is woken once for all of them.
const dispatchSize = 256

// bookmarkGrain is how late a bookmark may be, so that many are sent at once.
const bookmarkGrain = 250 * time.Millisecond

// dispatcher wakes watches for new events and for bookmarks. It never waits for a watch.
type dispatcher struct {
	// news signals that there are new events, or that a new watch may be the first to be due a
	// bookmark.
	news chan struct{}
}

func newDispatcher() dispatcher { return dispatcher{news: make(chan struct{}, 1)} }

// notify makes the dispatcher look for news.
func (d *dispatcher) notify() {
	select {
	case d.news <- struct{}{}:
	default:
	}
}

// dispatch runs until the cache is stopped.
func (c *Cacher) dispatch() {
	timer := c.config.Clock.NewTimer(time.Hour)
	defer timer.Stop()
	var events [dispatchSize]*event
	var position uint64 // of the next event to dispatch
	for {
		position = c.dispatchNew(position, events[:])
		c.metrics.used(c.state.usage())
		now := c.config.Clock.Now()
		next := c.watchers.sendDue(now, position)
		// A stale tick of the timer is harmless: the dispatcher looks once more than necessary.
		if !next.IsZero() {
			timer.Reset(max(next.Sub(now), bookmarkGrain))
		}
		select {
		case <-c.dispatcher.news:
		case <-timer.C():
		case <-c.ctx.Done():
			return
		}
	}
}

// dispatchNew wakes watches for all events from a position on, and returns the
// position after them.
func (c *Cacher) dispatchNew(position uint64, events []*event) uint64 {
	for {
		from, count := c.state.undispatched(position, events)
		position = from + uint64(count)
		if count == 0 {
			return position
		}
		c.watchers.wake(events[:count], from)
		c.metrics.eventsDispatched(count)
		clear(events[:count])
	}
}
