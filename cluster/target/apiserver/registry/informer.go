package registry

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
)

// ListerWatcher converts client-go's requests into operations and streams of an API.
type ListerWatcher struct {
	API   target.API
	Scope model.Scope
	// InitialEvents reports whether a request asks for initial events; nil if the
	// release does not support it.
	InitialEvents func(metav1.ListOptions) bool
}

// List performs one page of a list.
func (l *ListerWatcher) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	op := &model.Operation{
		Kind:      model.List,
		Scope:     l.Scope,
		RV:        requestedRV(options),
		Match:     model.Match(options.ResourceVersionMatch),
		Limit:     options.Limit,
		Remaining: -1,
	}
	next := l.API.Do(ctx, op, options.Continue)
	if op.Err != model.OK {
		return nil, ErrorOf(op.Err, op.Message)
	}
	pods := &corev1.PodList{Items: make([]corev1.Pod, len(op.Objects))}
	for i := range op.Objects {
		pods.Items[i] = *StoredPodOf(&op.Objects[i])
	}
	pods.ResourceVersion = FormatRV(op.ResultRV)
	pods.Continue = next
	if op.Remaining >= 0 {
		pods.RemainingItemCount = &op.Remaining
	}
	return pods, nil
}

// Watch opens a stream.
func (l *ListerWatcher) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	stream := &model.Stream{
		Scope:         l.Scope,
		RV:            requestedRV(options),
		Bookmarks:     options.AllowWatchBookmarks,
		InitialEvents: l.InitialEvents != nil && l.InitialEvents(options),
		Closed:        model.Pending,
	}
	cancel := context.CancelFunc(func() {})
	if options.TimeoutSeconds != nil {
		// The simulated network does not transmit timeouts: the informer's side ends
		// the stream when a server would.
		timeout := time.Duration(*options.TimeoutSeconds) * time.Second
		stream.Timeout = int64(timeout)
		ctx, cancel = context.WithTimeout(ctx, timeout)
	}
	inner := l.API.Watch(ctx, stream)
	if inner == nil {
		cancel()
		return nil, ErrorOf(stream.Err, stream.Message)
	}
	return NewInformerWatch(inner, cancel), nil
}

// requestedRV returns the RV of client-go's request.
func requestedRV(options metav1.ListOptions) int64 {
	if options.ResourceVersion == "" {
		return model.RVUnset
	}
	return ParseRV(options.ResourceVersion)
}

// InformerWatch adapts a stream, which is polled with Next, to a watch with a result
// channel. Its goroutine owns events. It implements watch.Interface.
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

func (w *InformerWatch) ResultChan() <-chan watch.Event { return w.events }

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

// Informer is what an informer holds. How it is made and run differs between releases of client-go.
type Informer struct {
	Store      cache.Store
	Controller cache.Controller
}

// Objects returns the objects that the pods in the store represent.
func (i Informer) Objects() (objects []model.Object) {
	for _, item := range i.Store.List() {
		objects = append(objects, ObjectOf(item.(*corev1.Pod)))
	}
	return objects
}

// LastSyncRV returns the last resourceVersion that the reflector saw.
func (i Informer) LastSyncRV() int64 { return ParseRV(i.Controller.LastSyncResourceVersion()) }
