package translate

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// Breakable is the storage below the cacher with a way to fail its watches.
type Breakable struct {
	storage.Interface

	mu sync.Mutex
	// broken is closed when the watches that are open now are to fail.
	broken chan struct{}
}

// NewBreakable wraps the storage.
func NewBreakable(inner storage.Interface) *Breakable {
	return &Breakable{Interface: inner, broken: make(chan struct{})}
}

// Watch implements storage.Interface.
func (b *Breakable) Watch(ctx context.Context, key string, options storage.ListOptions) (watch.Interface, error) {
	b.mu.Lock()
	broken := b.broken
	b.mu.Unlock()
	inner, err := b.Interface.Watch(ctx, key, options)
	if err != nil {
		return nil, err
	}
	w := &breakableWatch{
		inner:   inner,
		events:  make(chan watch.Event),
		broken:  broken,
		stopped: make(chan struct{}),
	}
	go w.run()
	return w, nil
}

// Break fails the watches that are open or being opened, once.
func (b *Breakable) Break() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.broken)
	b.broken = make(chan struct{})
}

// lostWatch is what the store reports of a watch whose place in the history is
// gone. After any lesser error the cacher's reflector would go on from where it
// was, and the cache would not be initialised again.
func lostWatch() *metav1.Status {
	status := apierrors.NewResourceExpired("the watch was broken on purpose").Status()
	return &status
}

// breakableWatch passes on the events of inner until it ends, is stopped, or
// breaks. Its goroutine owns events.
type breakableWatch struct {
	inner    watch.Interface
	events   chan watch.Event
	broken   <-chan struct{}
	stopOnce sync.Once
	stopped  chan struct{}
}

// ResultChan implements watch.Interface.
func (w *breakableWatch) ResultChan() <-chan watch.Event { return w.events }

// Stop implements watch.Interface.
func (w *breakableWatch) Stop() {
	w.stopOnce.Do(func() {
		close(w.stopped)
		w.inner.Stop()
	})
}

func (w *breakableWatch) run() {
	defer close(w.events)
	defer w.inner.Stop()
	for {
		select {
		case event, ok := <-w.inner.ResultChan():
			if !ok || !w.send(event) {
				return
			}
		case <-w.broken:
			w.send(watch.Event{Type: watch.Error, Object: lostWatch()})
			return
		case <-w.stopped:
			return
		}
	}
}

func (w *breakableWatch) send(event watch.Event) bool {
	select {
	case w.events <- event:
		return true
	case <-w.stopped:
		return false
	}
}
