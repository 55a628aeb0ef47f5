package registry

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

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
