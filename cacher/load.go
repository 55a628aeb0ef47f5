package cacher

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/watchlist"
	"k8s.io/klog/v2"
)

// listPageSize is how many objects the cache lists at once.
const listPageSize = 10000

// load begins a new generation with the objects of the storage. If the storage streams them, it
// returns the watch that they came with, which continues with the changes after them. Otherwise
// they are listed, and there is no watch yet.
func (c *Cacher) load() (*storageWatch, error) {
	if c.streams() {
		streaming, err := c.loadStream()
		if err == nil {
			return streaming, nil
		}
		klog.V(2).InfoS("The watch cache lists what it could not have streamed", "resource", c.config.GroupResource, "err", err)
	}
	return nil, c.loadList()
}

// streams reports whether to request a stream of the storage's objects.
func (c *Cacher) streams() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.WatchList) &&
		clientfeatures.FeatureGates().Enabled(clientfeatures.WatchListClient) &&
		!watchlist.DoesClientNotSupportWatchListSemantics(c.config.Storage)
}

// loadStream takes the objects from a watch, up to the bookmark after them.
func (c *Cacher) loadStream() (_ *storageWatch, err error) {
	streaming, err := c.openWatch("", true)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			streaming.close()
		}
	}()
	var objects []runtime.Object
	for {
		incoming, err := streaming.next()
		if err != nil {
			return nil, err
		}
		object, _ := unwrap(incoming.Object)
		last, err := storage.HasInitialEventsEndBookmarkAnnotation(object)
		switch {
		case err != nil:
			return nil, err
		case incoming.Type == watch.Added:
			objects = append(objects, object)
		case incoming.Type == watch.Bookmark && last:
			rv, err := c.config.Versioner.ObjectResourceVersion(object)
			if err != nil {
				return nil, err
			}
			return streaming, c.begin(objects, rv)
		case incoming.Type != watch.Bookmark:
			return nil, fmt.Errorf("expected only objects before the bookmark that ends them, found an event of type %q", incoming.Type)
		}
	}
}

// loadList lists the objects page by page, or all at once if the storage compacts the first page's
// resourceVersion before the last page.
func (c *Cacher) loadList() error {
	pages := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		page := c.config.NewListFunc()
		options := storage.ListOptions{Predicate: storage.Everything, Recursive: true}
		options.Predicate.Limit, options.Predicate.Continue = o.Limit, o.Continue
		return page, c.config.Storage.GetList(ctx, c.config.ResourcePrefix, options, page)
	})
	pages.PageSize = listPageSize
	// The objects are copied, so that a kept one does not keep its page in memory.
	list, _, err := pages.ListWithAlloc(c.ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	objects, err := meta.ExtractListWithAlloc(list)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	rv, err := c.config.Versioner.ParseResourceVersion(accessor.GetResourceVersion())
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	return c.begin(objects, rv)
}

// begin replaces the cache's state with the objects as of an RV.
func (c *Cacher) begin(objects []runtime.Object, rv uint64) error {
	loaded := c.state.tree.empty()
	for _, object := range objects {
		e, err := c.newElement(object)
		if err != nil {
			return fmt.Errorf("objects of the storage: %w", err)
		}
		loaded.put(e)
	}
	c.state.replace(loaded, rv)
	c.metrics.reached(rv)
	klog.V(1).InfoS("The watch cache is initialised", "resource", c.config.GroupResource, "resourceVersion", rv, "objects", len(objects))
	return nil
}

// newElement returns the cache's element for an object.
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

// storageWatch is a watch of the storage. ctx ends with it.
type storageWatch struct {
	ctx    context.Context
	cancel context.CancelFunc
	events watch.Interface
}

// openWatch watches the storage from an RV on, or from its current state on with the objects of
// that state first.
func (c *Cacher) openWatch(rv string, initialEvents bool) (*storageWatch, error) {
	c.watched++
	ctx, cancel := context.WithCancel(streamContext(c.ctx, c.config.GroupResource.String(), c.watched))
	options := storage.ListOptions{
		ResourceVersion:  rv,
		Predicate:        storage.Everything,
		Recursive:        true,
		ProgressNotify:   true,
		RecordTimestamps: true,
	}
	options.Predicate.AllowWatchBookmarks = true
	if initialEvents {
		options.SendInitialEvents = &initialEvents
	}
	events, err := c.config.Storage.Watch(ctx, c.config.ResourcePrefix, options)
	if err != nil {
		cancel()
		return nil, asRelist(err)
	}
	return &storageWatch{ctx: ctx, cancel: cancel, events: events}, nil
}

func (w *storageWatch) close() {
	w.events.Stop()
	w.cancel()
}

// next waits for an event. An error event is an error.
func (w *storageWatch) next() (watch.Event, error) {
	select {
	case <-w.ctx.Done():
		return watch.Event{}, w.ctx.Err()
	case e, open := <-w.events.ResultChan():
		if !open {
			return e, errors.New("the storage ended the watch")
		}
		if e.Type == watch.Error {
			return e, asRelist(apierrors.FromObject(e.Object))
		}
		return e, nil
	}
}
