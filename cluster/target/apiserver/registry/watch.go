package registry

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"
	storeerr "k8s.io/apiserver/pkg/storage/errors"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
)

// Watch reports some errors, above all an expired RV, with an ERROR event on an open stream, like
// the HTTP handler.
func (h *Handler) Watch(ctx context.Context, stream *model.Stream) target.Watch {
	w, err := h.watch(OfClient(ctx), stream)
	if err != nil {
		stream.Err, stream.Message, stream.Answer = CodeOf(err), err.Error(), AnswerOf(err)
		return nil
	}
	return w
}

func (h *Handler) watch(ctx context.Context, stream *model.Stream) (target.Watch, error) {
	if h.isStopped() {
		return nil, errStopped
	}
	options := &internalversion.ListOptions{
		Watch:               true,
		LabelSelector:       LabelSelector(stream.Selector),
		FieldSelector:       FieldSelector(stream.Scope, stream.Selector),
		ResourceVersion:     FormatRV(stream.RV),
		AllowWatchBookmarks: stream.Bookmarks,
	}
	if stream.InitialEvents {
		if h.Release.AskForInitialEvents != nil {
			h.Release.AskForInitialEvents(options)
		}
		options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	if err := h.validate(options); err != nil {
		return nil, err
	}
	key, storageOptions := storageOptionsOf(stream.Scope, options)
	// The registry omits the match, which is implied.
	storageOptions.ResourceVersionMatch = ""
	if h.Release.PassInitialEvents != nil {
		h.Release.PassInitialEvents(options, &storageOptions)
	}
	ctx, cancel := context.WithCancel(request.WithNamespace(ctx, stream.Scope.Namespace))
	if stream.Timeout > 0 {
		// The request ends when the client's timeout is over. The cache sees the deadline,
		// too. Where the client requests none, kube-apiserver sets one that is longer than
		// any run.
		ctx, cancel = context.WithTimeout(ctx, time.Duration(stream.Timeout))
	}
	inner, err := h.Storage.Watch(ctx, key, storageOptions)
	if err != nil {
		cancel()
		return nil, storeerr.InterpretWatchError(err, PodResource, "")
	}
	return NewClientWatch(ctx, cancel, inner, stream), nil
}

// ClientWatch is a stream as the client sees it, a target.Watch. It keeps the request's context,
// because an API server stops a watch when its request ends.
type ClientWatch struct {
	ctx    context.Context
	cancel context.CancelFunc
	inner  watch.Interface
	failed bool // an ERROR event was delivered; used by Next alone
	// mutator is the ID of the stream that mutates delivered pods, 0 for none.
	mutator int
}

// NewClientWatch wraps the watch that the cache returned for ctx; cancel cancels ctx.
func NewClientWatch(ctx context.Context, cancel context.CancelFunc, inner watch.Interface, stream *model.Stream) *ClientWatch {
	w := &ClientWatch{ctx: ctx, cancel: cancel, inner: inner}
	if stream.Mutates {
		w.mutator = stream.ID
	}
	return w
}

func (w *ClientWatch) Stop() {
	w.cancel()
	w.inner.Stop()
}

func (w *ClientWatch) Next() (model.Event, model.CloseReason, bool) {
	if event, ok := <-w.inner.ResultChan(); ok {
		w.failed = w.failed || event.Type == watch.Error
		return EventOf(event, w.mutator), "", true
	}
	// Release the stream's resources if the server ended it.
	reason := w.reason()
	w.Stop()
	return model.Event{}, reason, false
}

// reason returns why a stream has ended. An exceeded deadline is the timeout that the
// client requested, which the server enforces.
func (w *ClientWatch) reason() model.CloseReason {
	switch {
	case w.failed:
		return model.ClosedByError
	case errors.Is(w.ctx.Err(), context.Canceled):
		return model.ClosedByClient
	default:
		return model.ClosedByServer
	}
}
