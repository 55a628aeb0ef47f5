package cacher

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/klog/v2"
)

const (
	// watchRetries is for how long a failing watch is resumed from where it ended. It gives etcd
	// time to elect a leader without every client having to reconnect.
	watchRetries = 30 * time.Second
	// answerTimeout is how long the storage may take to answer a check.
	answerTimeout = 2 * time.Second
)

// ingestBackoff is the pause after a failed generation of the cache, or a failed watch: 100 ms at
// first, up to 10 s.
var ingestBackoff = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.25, Steps: 1 << 20, Cap: 10 * time.Second}

// errRelist says that the storage no longer has the next events.
var errRelist = errors.New("the storage has lost the place of the cache's watch")

// ingest keeps the state up to date until the cache is stopped: it loads, watches, and
// reinitialises when the watch has lost its place.
func (c *Cacher) ingest() {
	backoff := ingestBackoff
	for c.ctx.Err() == nil {
		started := c.config.Clock.Now()
		loaded, err := c.load()
		if err == nil {
			c.metrics.initialised(c.config.Clock.Since(started))
			backoff = ingestBackoff
			err = c.follow(loaded)
		}
		c.state.unready(err)
		c.watchers.endAll()
		if c.ctx.Err() != nil {
			return
		}
		klog.ErrorS(err, "The watch cache initialises again", "resource", c.config.GroupResource)
		c.metrics.initialisationFailed()
		c.pause(backoff.Step())
	}
}

// pause waits, unless the cache is stopped.
func (c *Cacher) pause(delay time.Duration) {
	timer := c.config.Clock.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-c.ctx.Done():
	}
}

// follow watches the storage from the current state, beginning with the watch that loaded it, if
// any. It returns when the cache is stopped or must reinitialise.
func (c *Cacher) follow(loaded *storageWatch) error {
	backoff := ingestBackoff
	failing, failures := c.config.Clock.Now(), 0 // since when, and how often, the watch has done no good
	for {
		before, opened := c.state.rv, c.config.Clock.Now()
		err := c.watchOnce(loaded)
		loaded = nil
		now := c.config.Clock.Now()
		if c.state.rv > before || now.Sub(opened) > watchRetries {
			failing, failures, backoff = now, 0, ingestBackoff
		}
		failures++
		switch {
		case c.ctx.Err() != nil:
			return c.ctx.Err()
		case errors.Is(err, errRelist):
			return err
		case now.Sub(failing) > watchRetries:
			return fmt.Errorf("the watch failed for %v: %w", watchRetries, err)
		case failures > 1 && c.storageAnswers():
			// The next event cannot be delivered: the state before a deletion may have been
			// compacted, or an object cannot be decoded.
			return fmt.Errorf("the watch fails at resourceVersion %d, though the storage answers: %w", c.state.rv, err)
		}
		klog.V(2).InfoS("The watch cache watches again", "resource", c.config.GroupResource, "err", err)
		c.pause(backoff.Step())
	}
}

// storageAnswers reports whether the storage can be listed: for etcd, whether it has a leader.
func (c *Cacher) storageAnswers() bool {
	ctx, cancel := context.WithTimeout(c.ctx, answerTimeout)
	defer cancel()
	_, err := c.config.Storage.GetCurrentResourceVersion(ctx)
	return err == nil
}

// watchOnce applies the events of one watch of the storage until it ends: the given one, or a new
// one if that is nil.
func (c *Cacher) watchOnce(from *storageWatch) (err error) {
	if from == nil {
		if from, err = c.openWatch(fmt.Sprint(c.state.rv), false); err != nil {
			return err
		}
	}
	defer from.close()
	closed := c.progress.open(from.ctx)
	defer closed()
	for {
		incoming, err := from.next()
		if err != nil {
			return err
		}
		if err := c.take(incoming); err != nil {
			return err
		}
	}
}

// asRelist marks the error of a watch whose place in the history is gone.
func asRelist(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return fmt.Errorf("%w: %w", errRelist, err)
	}
	return err
}

// unwrap returns an event's object, and when the storage decoded it; zero if unknown.
func unwrap(object runtime.Object) (runtime.Object, time.Time) {
	if recorded, ok := object.(storage.WatchEventWithRecordTime); ok {
		return recorded.Unwrap(), recorded.RecordTime()
	}
	return object, time.Time{}
}

// take applies one event of the storage.
func (c *Cacher) take(incoming watch.Event) error {
	received := c.config.Clock.Now()
	object, stored := unwrap(incoming.Object)
	if stored.IsZero() {
		stored = received
	}
	rv, err := c.config.Versioner.ObjectResourceVersion(object)
	if err != nil {
		return fmt.Errorf("%w: %s without a resourceVersion: %w", errRelist, incoming.Type, err)
	}
	switch incoming.Type {
	case watch.Bookmark:
		c.state.progress(rv)
	case watch.Added, watch.Modified, watch.Deleted:
		e := &event{kind: incoming.Type, rv: rv, stored: stored, received: received}
		if e.after, err = c.newElement(object); err != nil {
			return fmt.Errorf("%w: %w", errRelist, err)
		}
		e.key = e.after.key
		if c.config.ObjectSize != nil {
			e.size = c.config.ObjectSize(object)
		}
		if err := c.state.apply(e); err != nil {
			return fmt.Errorf("%w: %w", errRelist, err)
		}
		c.metrics.received(c.state.log)
		c.dispatcher.notify()
	default:
		return fmt.Errorf("%w: expected an event of the storage, found one of type %q", errRelist, incoming.Type)
	}
	c.metrics.reached(rv)
	return nil
}
