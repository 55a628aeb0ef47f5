package translate

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/watchsim/watchsim/model"
)

// ClientWatch is a stream as the client sees it. It holds the request's context:
// an API server stops a watch whose request has ended.
type ClientWatch struct {
	ctx    context.Context
	cancel context.CancelFunc
	inner  watch.Interface
	failed bool // an ERROR event was delivered; used by Next alone
	// scribbles is the stream in whose name delivered pods are written over, 0
	// for none.
	scribbles int
}

// NewClientWatch makes it of the watch that the cache returned for ctx, which cancel
// ends.
func NewClientWatch(ctx context.Context, cancel context.CancelFunc, inner watch.Interface, stream *model.Stream) *ClientWatch {
	w := &ClientWatch{ctx: ctx, cancel: cancel, inner: inner}
	if stream.Mutates {
		w.scribbles = stream.ID
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
		return EventOf(event, w.scribbles), "", true
	}
	// Releases what the stream holds where it was the server that ended it.
	reason := w.reason()
	w.Stop()
	return model.Event{}, reason, false
}

// reason is why a stream that delivers no more has ended. A deadline is the
// timeout the client asked for, which the server enforces.
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
