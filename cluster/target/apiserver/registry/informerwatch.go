package registry

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
)

// InformerWatch adapts a stream, which is polled with Next, to a watch with a result
// channel. Its goroutine owns events.
type InformerWatch struct {
	inner    target.Watch
	cancel   context.CancelFunc
	events   chan watch.Event
	stopOnce sync.Once
	stopped  chan struct{}
}

// NewInformerWatch adapts inner. It calls cancel when the stream has ended.
func NewInformerWatch(inner target.Watch, cancel context.CancelFunc) *InformerWatch {
	w := &InformerWatch{inner: inner, cancel: cancel, events: make(chan watch.Event), stopped: make(chan struct{})}
	go w.run()
	return w
}

// ResultChan implements watch.Interface.
func (w *InformerWatch) ResultChan() <-chan watch.Event { return w.events }

// Stop implements watch.Interface.
func (w *InformerWatch) Stop() {
	w.stopOnce.Do(func() {
		close(w.stopped)
		w.inner.Stop()
		w.cancel()
	})
}

func (w *InformerWatch) run() {
	defer close(w.events)
	defer w.Stop()
	for {
		event, _, ok := w.inner.Next()
		if !ok {
			return
		}
		select {
		case w.events <- APIEventOf(event):
		case <-w.stopped:
			return
		}
	}
}

// InformerHandler returns the handler of an informer's notifications that translates them.
func InformerHandler(handle target.Handle) cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { handle(model.Added, ObjectOf(object.(*corev1.Pod))) },
		UpdateFunc: func(_, object any) { handle(model.Modified, ObjectOf(object.(*corev1.Pod))) },
		DeleteFunc: func(object any) {
			// A missed deletion comes with the last state that the informer knows.
			if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = missed.Obj
			}
			handle(model.Deleted, ObjectOf(object.(*corev1.Pod)))
		},
	}
}
