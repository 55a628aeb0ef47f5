package cacher

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/klog/v2"
)

const (
	// listPageSize is how many objects the cache lists at once.
	listPageSize = 10000
	// watchRetries is for how long a failing watch is opened again from where it
	// ended. It lets etcd elect a leader without every client having to come back.
	watchRetries = 30 * time.Second
	// answerTimeout is how long the storage may take to show that it is there.
	answerTimeout = 2 * time.Second
)

// ingestBackoff is the pause after a generation of the cache that failed, or after
// a watch that did: 100 ms at first, 10 s in the end.
var ingestBackoff = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.25, Steps: 1 << 20, Cap: 10 * time.Second}

// errRelist says that the storage no longer has the events that come next.
var errRelist = errors.New("the storage has lost the place of the cache's watch")

// ingest keeps the state up to date until the cache is stopped: list, watch, and
// again from the beginning when the watch has lost its place.
func (c *Cacher) ingest() {
	backoff := ingestBackoff
	for c.ctx.Err() == nil {
		started := c.config.Clock.Now()
		err := c.initialise()
		if err == nil {
			c.metrics.initialised(c.config.Clock.Since(started))
			backoff = ingestBackoff
			err = c.follow()
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

// initialise lists the storage and begins a new generation with that.
func (c *Cacher) initialise() error {
	listed := c.state.tree.empty()
	rv, next := "", ""
	for {
		page := c.config.NewListFunc()
		options := storage.ListOptions{Predicate: storage.Everything, Recursive: true}
		options.Predicate.Limit, options.Predicate.Continue = listPageSize, next
		if err := c.config.Storage.GetList(c.ctx, c.config.ResourcePrefix, options, page); err != nil {
			return fmt.Errorf("list: %w", err)
		}
		// The objects are copied out, so that one that stays does not keep its page.
		objects, err := meta.ExtractListWithAlloc(page)
		if err != nil {
			return fmt.Errorf("list: %w", err)
		}
		for _, object := range objects {
			e, err := c.newElement(object)
			if err != nil {
				return fmt.Errorf("list: %w", err)
			}
			listed.put(e)
		}
		accessor, err := meta.ListAccessor(page)
		if err != nil {
			return fmt.Errorf("list: %w", err)
		}
		rv, next = accessor.GetResourceVersion(), accessor.GetContinue()
		if next == "" {
			break
		}
	}
	parsed, err := c.config.Versioner.ParseResourceVersion(rv)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	c.state.replace(listed, parsed)
	c.metrics.reached(parsed)
	klog.V(1).InfoS("The watch cache is initialised", "resource", c.config.GroupResource, "resourceVersion", rv, "objects", listed.objects.Len())
	return nil
}

// newElement is what the cache keeps of an object.
func (c *Cacher) newElement(object runtime.Object) (*element, error) {
	key, err := c.config.KeyFunc(object)
	if err != nil {
		return nil, fmt.Errorf("key of %T: %w", object, err)
	}
	labels, fields, err := c.config.GetAttrsFunc(object)
	if err != nil {
		return nil, fmt.Errorf("attributes of %s: %w", key, err)
	}
	if err := c.state.tree.indexable(object); err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return &element{key: key, object: object, labels: labels, fields: fields}, nil
}

// follow watches the storage from where the state is. It returns when the cache
// is stopped or has to be initialised again.
func (c *Cacher) follow() error {
	backoff := ingestBackoff
	failing, failures := c.config.Clock.Now(), 0 // since when, and how often, the watch has done no good
	for {
		before, opened := c.state.rv, c.config.Clock.Now()
		c.watched++
		err := c.watchOnce(c.watched)
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
			// It is the event that comes next that cannot be had: the state before a
			// deletion may have been compacted, or an object cannot be decoded.
			return fmt.Errorf("the watch fails at resourceVersion %d, though the storage answers: %w", c.state.rv, err)
		}
		klog.V(2).InfoS("The watch cache watches again", "resource", c.config.GroupResource, "err", err)
		c.pause(backoff.Step())
	}
}

// storageAnswers reports whether the storage could be listed: for etcd, whether it
// has a leader.
func (c *Cacher) storageAnswers() bool {
	ctx, cancel := context.WithTimeout(c.ctx, answerTimeout)
	defer cancel()
	_, err := c.config.Storage.GetCurrentResourceVersion(ctx)
	return err == nil
}

// watchOnce applies what one watch of the storage delivers until it ends. number
// tells it from those before it.
func (c *Cacher) watchOnce(number int) error {
	ctx, cancel := context.WithCancel(streamContext(c.ctx, c.config.GroupResource.String(), number))
	defer cancel()
	options := storage.ListOptions{
		ResourceVersion:  fmt.Sprint(c.state.rv),
		Predicate:        storage.Everything,
		Recursive:        true,
		ProgressNotify:   true,
		RecordTimestamps: true,
	}
	options.Predicate.AllowWatchBookmarks = true
	upstream, err := c.config.Storage.Watch(ctx, c.config.ResourcePrefix, options)
	if err != nil {
		return asRelist(err)
	}
	defer upstream.Stop()
	closed := c.progress.open(ctx)
	defer closed()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, open := <-upstream.ResultChan():
			if !open {
				return errors.New("the storage ended the watch")
			}
			if err := c.take(e); err != nil {
				return err
			}
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

// take applies one event of the storage.
func (c *Cacher) take(incoming watch.Event) error {
	received := c.config.Clock.Now()
	if incoming.Type == watch.Error {
		return asRelist(apierrors.FromObject(incoming.Object))
	}
	object, stored := incoming.Object, received
	if recorded, ok := object.(storage.WatchEventWithRecordTime); ok {
		object, stored = recorded.Unwrap(), recorded.RecordTime()
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
