package registry

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/watchsim/watchsim/model"
)

// ClientWatch is a stream as the client sees it. It keeps the request's context,
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

// Stop implements target.Watch.
func (w *ClientWatch) Stop() {
	w.cancel()
	w.inner.Stop()
}

// Next implements target.Watch.
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
