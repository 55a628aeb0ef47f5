package translate

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/watchsim/watchsim/cluster/target"
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
