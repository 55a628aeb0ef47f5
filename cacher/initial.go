package cacher

import (
	"fmt"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/klog/v2"
)

// initialState is the beginning of a watch: the objects as of an RV, and the bookmark after them if
// requested.
type initialState struct {
	tree     *tree
	rv       uint64
	bookmark bool
}

// sendInitial delivers the objects that match, in the order of their keys. It
// returns false if the watch ended.
func (w *watcher) sendInitial(initial *initialState) bool {
	clock := w.cacher.config.Clock
	started, count, open := clock.Now(), 0, true
	initial.tree.ascend(w.filter.prefix, "", func(e *element) bool {
		if w.filter.matches(e) {
			open = w.deliver(watch.Event{Type: watch.Added, Object: unshared(e.object)}, time.Time{})
			count++
		}
		return open
	})
	w.cacher.metrics.initialEvents(count)
	if took := clock.Since(started); took > traceThreshold {
		klog.V(2).InfoS("The initial state of a watch took long", append(w.identify(), "objects", count, "duration", took)...)
	}
	return open && (!initial.bookmark || w.sendBookmark(initial.rv, true))
}

// sendBookmark tells the consumer that it has everything up to an RV.
func (w *watcher) sendBookmark(rv uint64, initialEnd bool) bool {
	object := w.cacher.config.NewFunc()
	err := w.cacher.config.Versioner.UpdateObject(object, rv)
	if err == nil && initialEnd {
		err = storage.AnnotateInitialEventsEndBookmark(object)
	}
	if err != nil {
		utilruntime.HandleError(fmt.Errorf("bookmark of %s: %w", w.cacher.config.GroupResource, err))
		return true
	}
	// For the budget a bookmark is as old as an event that may wait behind it.
	if !w.deliver(watch.Event{Type: watch.Bookmark, Object: object}, w.cacher.config.Clock.Now()) {
		return false
	}
	w.seen = rv
	return true
}
