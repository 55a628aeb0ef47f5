package workload

import (
	"context"
	"time"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
)

// session connects one client to one server. It applies the client's timeout to every
// request and records it with its response.
type session struct {
	client, server string
	api            target.API
	recorder       *recorder
	timeout        time.Duration
}

// do performs op and returns the continue token of the next page, if any.
func (s *session) do(ctx context.Context, op *model.Operation, token string) (next string) {
	op.Client, op.Server = s.client, s.server
	if op.Kind == model.List {
		op.Remaining = -1
	}
	record := s.recorder.beginOperation(op)
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	next = s.api.Do(ctx, op, token)
	s.recorder.endOperation(record, op)
	return next
}

// watch opens the requested stream, to be read at the consumer's pace. It returns nil
// on failure, with the reason in stream.Err.
func (s *session) watch(ctx context.Context, stream *model.Stream, consumer *consumer) *watch {
	stream.Client, stream.Server = s.client, s.server
	record := s.recorder.beginStream(stream)
	ctx, cancel := context.WithCancel(ctx)
	// The timeout applies to opening only; an open stream may last.
	opening := time.AfterFunc(s.timeout, cancel)
	inner := s.api.Watch(ctx, stream)
	opening.Stop()
	if inner == nil {
		if stream.Err == model.OK {
			stream.Err, stream.Message = model.Unknown, "the target returned neither a watch nor an error"
		}
		cancel()
	}
	s.recorder.openStream(record, stream)
	if inner == nil {
		return nil
	}
	w := &watch{ctx: ctx, inner: inner, record: record, recorder: s.recorder, consumer: consumer}
	// An open stream may ignore its context, so stop it explicitly.
	detach := context.AfterFunc(ctx, inner.Stop)
	w.release = func() {
		detach()
		cancel()
	}
	return w
}

// maxEndAfterError is how long a client waits for the end of a stream after an ERROR
// event. Reading on shows whether anything follows it.
const maxEndAfterError = time.Second

// watch is an open stream whose events are recorded as the client takes them.
// It implements target.Watch.
type watch struct {
	ctx      context.Context
	release  func() // releases the context
	inner    target.Watch
	record   *model.Stream
	recorder *recorder
	consumer *consumer
	failed   bool // an ERROR event was received: only the end may follow
}

// Next waits until the consumer is ready for another event, and then for the event.
func (w *watch) Next() (model.Event, model.CloseReason, bool) {
	if !w.failed && !w.consumer.pause(w.ctx) {
		w.Stop()
		return model.Event{}, model.ClosedByClient, false
	}
	event, reason, ok := w.inner.Next()
	if !ok {
		w.recorder.closeStream(w.record, reason)
		w.release()
		return model.Event{}, reason, false
	}
	if !w.recorder.event(w.record, &event) {
		return model.Event{}, model.ClosedByClient, false
	}
	if event.Type == model.Error && !w.failed {
		w.failed = true
		time.AfterFunc(maxEndAfterError, w.Stop)
	}
	return event, "", true
}

// Stop ends the stream on the client's side.
func (w *watch) Stop() {
	w.recorder.closeStream(w.record, model.ClosedByClient)
	w.release()
	w.inner.Stop()
}

// stopAfter stops the stream after length, unless length is zero. The caller
// calls release when it is done with the stream.
func (w *watch) stopAfter(length time.Duration) (release func()) {
	if length == 0 {
		return w.Stop
	}
	timer := time.AfterFunc(length, w.Stop)
	return func() {
		timer.Stop()
		w.Stop()
	}
}
