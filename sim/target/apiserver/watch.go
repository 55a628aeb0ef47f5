package apiserver

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"
	storeerr "k8s.io/apiserver/pkg/storage/errors"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim/target"
)

// Watch implements target.API. Like the HTTP handler it tells some failures with
// an ERROR event on an open stream, above all an RV that has expired.
func (s *server) Watch(ctx context.Context, stream *model.Stream) target.Watch {
	w, err := s.watch(ctx, stream)
	if err != nil {
		stream.Err, stream.Message = codeOf(err), err.Error()
		return nil
	}
	return w
}

func (s *server) watch(ctx context.Context, stream *model.Stream) (target.Watch, error) {
	if s.isStopped() {
		return nil, errStopped
	}
	options := &internalversion.ListOptions{
		Watch:               true,
		LabelSelector:       labelSelector(stream.Selector),
		FieldSelector:       fieldSelector(stream.Scope, stream.Selector),
		ResourceVersion:     formatRV(stream.RV),
		AllowWatchBookmarks: stream.Bookmarks,
	}
	if stream.InitialEvents {
		send := true
		options.SendInitialEvents = &send
		options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	if err := validate(options); err != nil {
		return nil, err
	}
	key, storageOptions := storageOptionsOf(stream.Scope, options)
	// The registry leaves the match out: it is implied.
	storageOptions.ResourceVersionMatch = ""
	ctx, cancel := context.WithCancel(request.WithNamespace(ctx, stream.Scope.Namespace))
	inner, err := s.storage.Watch(ctx, key, storageOptions)
	if err != nil {
		cancel()
		return nil, storeerr.InterpretWatchError(err, podResource, "")
	}
	w := &clientWatch{ctx: ctx, cancel: cancel, inner: inner}
	if stream.Scribbles {
		w.scribbles = stream.ID
	}
	return w, nil
}

// clientWatch is a stream as the client sees it. It holds the request's context:
// an API server stops a watch whose request has ended.
type clientWatch struct {
	ctx    context.Context
	cancel context.CancelFunc
	inner  watch.Interface
	failed bool // an ERROR event was delivered; used by Next alone
	// scribbles is the stream in whose name delivered pods are written over, 0
	// for none.
	scribbles int
}

// Stop implements target.Watch.
func (w *clientWatch) Stop() {
	w.cancel()
	w.inner.Stop()
}

// Next implements target.Watch.
func (w *clientWatch) Next() (model.Event, model.CloseReason, bool) {
	if event, ok := <-w.inner.ResultChan(); ok {
		w.failed = w.failed || event.Type == watch.Error
		return eventOf(event, w.scribbles), "", true
	}
	// Releases what the stream holds where it was the server that ended it.
	reason := w.reason()
	w.Stop()
	return model.Event{}, reason, false
}

// reason is why a stream that delivers no more has ended. A deadline is the
// timeout the client asked for, which the server enforces.
func (w *clientWatch) reason() model.CloseReason {
	switch {
	case w.failed:
		return model.ClosedByError
	case errors.Is(w.ctx.Err(), context.Canceled):
		return model.ClosedByClient
	default:
		return model.ClosedByServer
	}
}

// eventOf converts an event of the API, and then scribbles on what it was made
// from if a stream is given.
func eventOf(event watch.Event, scribbles int) model.Event {
	converted := model.Event{Type: model.EventType(event.Type)}
	if event.Type == watch.Error {
		err := apierrors.FromObject(event.Object)
		converted.Err, converted.Message = codeOf(err), err.Error()
		return converted
	}
	pod, err := podIn(event.Object)
	if err != nil {
		converted.Type, converted.Err, converted.Message = model.Error, model.Unknown, err.Error()
		return converted
	}
	converted.RV = parseRV(pod.ResourceVersion)
	if event.Type == watch.Bookmark {
		converted.InitialEnd = pod.Annotations[metav1.InitialEventsAnnotationKey] == "true"
		return converted
	}
	object := objectOf(pod)
	converted.Object = &object
	if scribbles != 0 {
		scribble(pod, scribbles)
	}
	return converted
}

// podIn is the pod of an event. The cacher wraps pods that it sends to several
// watches; what comes out of the wrapper is a copy.
func podIn(object runtime.Object) (*corev1.Pod, error) {
	if shared, ok := object.(runtime.CacheableObject); ok {
		object = shared.GetObject()
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("expected a pod in the event, found %T", object)
	}
	return pod, nil
}
