package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// receipt is an event as a client got it.
type receipt struct {
	revision int64
	at       time.Duration // since the start of the measurement
}

// client is one consumer of one watch. Its receipts are its goroutine's until that
// has ended.
type client struct {
	receipts []receipt
	ended    bool // by the server, before all events had come
}

// clients are all consumers of a measurement.
type clients struct {
	all       []*client
	perClient int // events that each is owed, initial ones included
	running   sync.WaitGroup
	start     time.Time

	opened, delivered *tally
}

// newClients is for watches that are owed initial events at first, and then one
// for each of writes.
func newClients(watches, initial, writes int) *clients {
	return &clients{
		perClient: initial + writes,
		start:     time.Now(),
		opened:    newTally(watches * initial),
		delivered: newTally(watches * (initial + writes)),
	}
}

// open opens one more watch and starts to read it.
func (c *clients) open(ctx context.Context, from source) error {
	next, err := from.watch(ctx, len(c.all))
	if err != nil {
		return err
	}
	one := &client{receipts: make([]receipt, 0, c.perClient)}
	c.all = append(c.all, one)
	c.running.Go(func() { c.consume(ctx, one, next) })
	return nil
}

// consume notes what a watch delivers until it ends. What a watch that ended early
// still owes counts as dealt with, so that nobody waits for it; check finds it
// missing.
func (c *clients) consume(ctx context.Context, one *client, next receive) {
	for {
		revisions := next()
		if len(revisions) == 0 {
			break
		}
		at := time.Since(c.start)
		for _, revision := range revisions {
			one.receipts = append(one.receipts, receipt{revision, at})
		}
		c.opened.add(len(revisions))
		c.delivered.add(len(revisions))
	}
	owed := c.perClient - len(one.receipts)
	if owed > 0 && ctx.Err() == nil {
		one.ended = true
		c.opened.add(owed)
		c.delivered.add(owed)
	}
}

// tally is a count that somebody waits for.
type tally struct {
	missing atomic.Int64
	reached chan struct{} // closed when nothing is missing any more
	once    sync.Once
}

func newTally(target int) *tally {
	t := &tally{reached: make(chan struct{})}
	t.missing.Store(int64(target))
	t.add(0)
	return t
}

func (t *tally) add(n int) {
	if t.missing.Add(-int64(n)) <= 0 {
		t.once.Do(func() { close(t.reached) })
	}
}

// wait reports whether the count was reached before the time was over. It fails if
// ctx ends.
func (t *tally) wait(ctx context.Context, patience time.Duration) (bool, error) {
	select {
	case <-t.reached:
		return true, nil
	case <-time.After(patience):
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}
