package apiserver

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim/target"
)

// informer is a client-go informer: reflector, queue and store.
type informer struct {
	store      cache.Store
	controller cache.Controller
}

func newInformer(api target.API, scope model.Scope) *informer {
	source := &listerWatcher{api: api, scope: scope}
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc:  source.list,
			WatchFuncWithContext: source.watch,
		},
		ObjectType: &corev1.Pod{},
		Handler:    cache.ResourceEventHandlerFuncs{},
	})
	return &informer{store: store, controller: controller}
}

// Run implements target.Informer.
func (i *informer) Run(ctx context.Context) { i.controller.RunWithContext(ctx) }

// Objects implements target.Informer.
func (i *informer) Objects() []model.Object {
	var objects []model.Object
	for _, item := range i.store.List() {
		objects = append(objects, objectOf(item.(*corev1.Pod)))
	}
	return objects
}

// LastSyncRV implements target.Informer.
func (i *informer) LastSyncRV() int64 { return parseRV(i.controller.LastSyncResourceVersion()) }

// listerWatcher turns client-go's requests into operations and streams of an API.
type listerWatcher struct {
	api   target.API
	scope model.Scope
}

func (l *listerWatcher) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	op := &model.Operation{
		Kind:      model.List,
		Scope:     l.scope,
		RV:        requestedRV(options),
		Match:     model.Match(options.ResourceVersionMatch),
		Limit:     options.Limit,
		Remaining: -1,
	}
	next := l.api.Do(ctx, op, options.Continue)
	if op.Err != model.OK {
		return nil, errorOf(op.Err, op.Message)
	}
	pods := &corev1.PodList{Items: make([]corev1.Pod, len(op.Objects))}
	for i := range op.Objects {
		pods.Items[i] = *storedPodOf(&op.Objects[i])
	}
	pods.ResourceVersion = formatRV(op.ResultRV)
	pods.Continue = next
	if op.Remaining >= 0 {
		pods.RemainingItemCount = &op.Remaining
	}
	return pods, nil
}

func (l *listerWatcher) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	stream := &model.Stream{
		Scope:         l.scope,
		RV:            requestedRV(options),
		Bookmarks:     options.AllowWatchBookmarks,
		InitialEvents: options.SendInitialEvents != nil && *options.SendInitialEvents,
		Closed:        model.Pending,
	}
	cancel := context.CancelFunc(func() {})
	if options.TimeoutSeconds != nil {
		// The harness' network carries no timeouts: the informer's side ends the
		// stream, at the time at which a server would.
		timeout := time.Duration(*options.TimeoutSeconds) * time.Second
		stream.Timeout = int64(timeout)
		ctx, cancel = context.WithTimeout(ctx, timeout)
	}
	inner := l.api.Watch(ctx, stream)
	if inner == nil {
		cancel()
		return nil, errorOf(stream.Err, stream.Message)
	}
	w := &informerWatch{inner: inner, cancel: cancel, events: make(chan watch.Event), stopped: make(chan struct{})}
	go w.run()
	return w, nil
}

// requestedRV is the RV of client-go's request.
func requestedRV(options metav1.ListOptions) int64 {
	if options.ResourceVersion == "" {
		return model.RVUnset
	}
	return parseRV(options.ResourceVersion)
}

// storedPodOf is the pod of an object that was read.
func storedPodOf(object *model.Object) *corev1.Pod {
	pod := podOf(object)
	pod.ResourceVersion = formatRV(object.RV)
	return pod
}

// informerWatch makes a stream, which is read from, into a watch, which sends.
// Its goroutine owns events.
type informerWatch struct {
	inner    target.Watch
	cancel   context.CancelFunc
	events   chan watch.Event
	stopOnce sync.Once
	stopped  chan struct{}
}

// ResultChan implements watch.Interface.
func (w *informerWatch) ResultChan() <-chan watch.Event { return w.events }

// Stop implements watch.Interface.
func (w *informerWatch) Stop() {
	w.stopOnce.Do(func() {
		close(w.stopped)
		w.inner.Stop()
		w.cancel()
	})
}

func (w *informerWatch) run() {
	defer close(w.events)
	defer w.Stop()
	for {
		event, _, ok := w.inner.Next()
		if !ok {
			return
		}
		select {
		case w.events <- apiEventOf(event):
		case <-w.stopped:
			return
		}
	}
}

// apiEventOf is the inverse of eventOf.
func apiEventOf(event model.Event) watch.Event {
	converted := watch.Event{Type: watch.EventType(event.Type)}
	switch event.Type {
	case model.Error:
		converted.Object = statusOf(errorOf(event.Err, event.Message))
	case model.Bookmark:
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: formatRV(event.RV)}}
		if event.InitialEnd {
			pod.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
		}
		converted.Object = pod
	default:
		converted.Object = storedPodOf(event.Object)
	}
	return converted
}
