// Package parallel runs pieces of work concurrently, where the next one may depend on the results
// of others. Swarms, hunts, searches of schedules, shrinking and campaigns schedule their work with
// it; the workers behind them are those of a swarm.Pool.
package parallel

import (
	"context"
	"errors"
	"sync"
)

// errExited means that do did not return.
var errExited = errors.New("a piece of work ended its goroutine")

// Run does items in up to slots goroutines.
//
// next returns the next item, or false if there is none for now; it is called one item ahead. do
// does an item, and done takes its result. do is called from several goroutines, next and done only
// from that of Run.
//
// Run returns nil once next has no item while none is in progress. It returns the first error of do
// or done, and cancels what is in progress. When ctx ends, no item is begun any more; Run waits for
// those in progress, done takes those that still succeed, and the error is the cause of ctx.
func Run[T, R any](ctx context.Context, slots int, next func() (T, bool), do func(context.Context, T) (R, error), done func(T, R) error) error {
	type result struct {
		item  T
		value R
		err   error
	}
	running, cancel := context.WithCancel(ctx)
	items, results := make(chan T), make(chan result)
	var workers sync.WaitGroup
	for range max(1, slots) {
		workers.Go(func() {
			for item := range items {
				r := result{item: item, err: errExited}
				func() {
					// A test that fails or is skipped ends its goroutine.
					defer func() { results <- r }()
					r.value, r.err = do(running, item)
				}()
			}
		})
	}
	underWay := 0
	defer func() {
		cancel()
		close(items)
		for ; underWay > 0; underWay-- {
			<-results
		}
		workers.Wait()
	}()
	var item T
	waiting := false
	for {
		if !waiting && ctx.Err() == nil {
			item, waiting = next()
		}
		begin, ended := items, ctx.Done()
		if ctx.Err() != nil {
			begin, ended = nil, nil
		}
		if !waiting {
			begin = nil
		}
		if begin == nil && underWay == 0 {
			return context.Cause(ctx)
		}
		select {
		case begin <- item:
			waiting = false
			underWay++
		case <-ended:
		case r := <-results:
			underWay--
			if r.err == nil {
				r.err = done(r.item, r.value)
			} else if ctx.Err() != nil {
				r.err = nil // it was interrupted
			}
			if r.err != nil {
				return r.err
			}
		}
	}
}

// Each does items from a slice.
func Each[T any](ctx context.Context, slots int, items []T, do func(context.Context, T) error) error {
	next := func() (item T, ok bool) {
		if len(items) == 0 {
			return item, false
		}
		item, items = items[0], items[1:]
		return item, true
	}
	return Run(ctx, slots, next,
		func(ctx context.Context, item T) (struct{}, error) { return struct{}{}, do(ctx, item) },
		func(T, struct{}) error { return nil })
}
