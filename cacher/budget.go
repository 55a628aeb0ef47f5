package cacher

import (
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
)

// deliverWithin waits for the consumer until the budget for an event that the cache
// received at a time is spent, and then ends the watch.
//
// It ends without an error. The consumer still gets what is in the result channel,
// and the window has what follows, so that the client can go on from there.
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

// identify tells which watch a line of the log is about.
func (w *watcher) identify() []any {
	return []any{"resource", w.cacher.config.GroupResource, "key", w.filter.prefix, "labels", w.filter.label, "fields", w.filter.field, "resourceVersion", w.seen}
}
