package memory

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
)

// watch is a cursor into the store's changes. It needs no goroutine, because Next computes the next
// event on demand. It implements target.Watch.
type watch struct {
	store      *Store
	ctx        context.Context
	cancel     context.CancelFunc
	request    model.Stream
	generation int

	initial []model.Event // still to be sent, before other events
	rv      int64         // everything up to here has been sent or does not match
	failed  bool          // an ERROR event was sent
}

func (a *api) Watch(ctx context.Context, stream *model.Stream) target.Watch {
	if !wait(ctx, a.latency()) {
		stream.Err, stream.Message = model.Unknown, ctx.Err().Error()
		return nil
	}
	if stream.RV > 0 && !a.store.waitFor(ctx, stream.RV) {
		stream.Err, stream.Message = model.TooLarge, fmt.Sprintf("Too large resource version: %d", stream.RV)
		return nil
	}
	s := a.store
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &watch{store: s, request: *stream, generation: s.generation, rv: stream.RV}
	w.ctx, w.cancel = context.WithCancel(ctx)
	if stream.RV <= 0 || stream.InitialEvents {
		w.rv = s.truth.Revision
		for _, object := range s.viewLocked().List(stream.Scope, stream.Selector, w.rv) {
			w.initial = append(w.initial, model.Event{Type: model.Added, RV: object.RV, Object: object})
		}
		if stream.InitialEvents && stream.Bookmarks {
			w.initial = append(w.initial, model.Event{Type: model.Bookmark, RV: w.rv, InitialEnd: true})
		}
	}
	if oldest := s.oldestLocked(); w.rv < oldest {
		stream.Err, stream.Message = model.Expired, fmt.Sprintf("too old resource version: %d (%d)", w.rv, oldest)
		w.cancel()
		return nil
	}
	return w
}

func (w *watch) Stop() { w.cancel() }

func (w *watch) Next() (model.Event, model.CloseReason, bool) {
	var bookmark <-chan time.Time
	if w.request.Bookmarks {
		bookmark = time.After(w.store.BookmarkPeriod)
	}
	for {
		if w.ctx.Err() != nil {
			return model.Event{}, model.ClosedByClient, false
		}
		event, reason, wake := w.poll()
		if reason != "" {
			return model.Event{}, reason, false
		}
		if event.Type != "" {
			return w.deliver(event), "", true
		}
		select {
		case <-wake:
		case <-w.ctx.Done():
		case <-bookmark:
			return model.Event{Type: model.Bookmark, RV: w.rv}, "", true
		}
	}
}

// deliver returns the client's copy of an event, and then lets a careless consumer
// mutate the original.
func (w *watch) deliver(event model.Event) model.Event {
	if event.Object == nil {
		return event
	}
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	delivered := copyOf(event.Object)
	if w.store.shares {
		delivered.Labels = event.Object.Labels
	}
	event.Object = copyOf(delivered)
	if w.request.Mutates {
		model.Mutate(delivered, w.request.ID)
	}
	return event
}

func copyOf(object *model.Object) *model.Object {
	clone := *object
	clone.Labels = maps.Clone(object.Labels)
	return &clone
}

// poll returns the next event if there is one, a reason if the stream has ended, and
// otherwise the channel to wait on.
func (w *watch) poll() (event model.Event, reason model.CloseReason, wake <-chan struct{}) {
	s := w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case w.failed:
		return event, model.ClosedByError, nil
	case w.generation != s.generation:
		return event, model.ClosedByReset, nil
	case len(w.initial) > 0:
		event, w.initial = w.initial[0], w.initial[1:]
		return event, "", nil
	case w.rv < s.oldestLocked():
		w.failed = true
		return model.Event{Type: model.Error, Err: model.Expired, Message: "the stream fell behind"}, "", nil
	}
	next, owed := s.viewLocked().NextOwed(w.request.Scope, w.request.Selector, w.rv)
	if !owed {
		w.rv = s.truth.Revision
		return event, "", s.wake
	}
	w.rv = next.RV
	return model.Event{Type: next.Type, RV: next.RV, Object: next.Object}, "", nil
}
