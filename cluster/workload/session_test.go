package workload

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
)

// scripted is an API whose streams deliver the given events and then wait to be
// stopped. Like streams over a network, they ignore the context once they are open.
type scripted struct {
	opening time.Duration
	events  chan model.Event
	stopped chan struct{}
	once    sync.Once
}

func newScripted(events ...model.Event) *scripted {
	s := &scripted{events: make(chan model.Event, len(events)), stopped: make(chan struct{})}
	for _, event := range events {
		s.events <- event
	}
	return s
}

func (s *scripted) Do(context.Context, *model.Operation, string) string { return "" }

func (s *scripted) Watch(ctx context.Context, stream *model.Stream) target.Watch {
	if !sleep(ctx, s.opening) {
		stream.Err = model.Unknown
		return nil
	}
	return s
}

func (s *scripted) Next() (model.Event, model.CloseReason, bool) {
	select {
	case event := <-s.events:
		return event, "", true
	case <-s.stopped:
		return model.Event{}, model.ClosedByReset, false
	}
}

func (s *scripted) Stop() { s.once.Do(func() { close(s.stopped) }) }

// open opens a stream of api and returns it with its record.
func open(ctx context.Context, api target.API) (*watch, *recorder, *model.Stream) {
	r := newRecorder(time.Now())
	s := &session{client: "watcher-0", server: "apiserver-0", api: api, recorder: r, timeout: 5 * time.Second}
	stream := &model.Stream{}
	return s.watch(ctx, stream, newConsumer(streams(1)("consumer"))), r, stream
}

func TestAStreamThatDoesNotOpenTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newScripted()
		api.opening = time.Minute
		w, r, stream := open(t.Context(), api)
		require.Nil(t, w)
		require.Equal(t, model.Unknown, stream.Err)
		require.Equal(t, int64(5*time.Second), stream.Return)
		require.Equal(t, *stream, *r.streams[0])
	})
}

func TestAnOpenStreamOutlivesTheTimeoutButNotItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Hour, cancel)
		w, _, _ := open(ctx, newScripted())
		began := time.Now()
		_, _, ok := w.Next()
		require.False(t, ok)
		require.Equal(t, time.Hour, time.Since(began))
	})
}

func TestNothingIsSeenThatIsNotRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r, _ := open(t.Context(), newScripted(model.Event{Type: model.Added, RV: 1}, model.Event{Type: model.Added, RV: 2}))
		event, _, ok := w.Next()
		require.True(t, ok)
		require.Equal(t, int64(1), event.RV)
		w.recorder.closeStream(w.record, model.ClosedByClient)
		_, reason, ok := w.Next()
		require.False(t, ok, "an event that comes after the client's end must not count")
		require.Equal(t, model.ClosedByClient, reason)
		require.Len(t, r.streams[0].Events, 1)
		w.Stop()
		require.Equal(t, model.ClosedByClient, r.streams[0].Reason)
	})
}

func TestAStreamIsReadOnAfterAnErrorButNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r, _ := open(t.Context(), newScripted(model.Event{Type: model.Error, Err: model.Expired}, model.Event{Type: model.Added, RV: 3}))
		_, _, ok := w.Next()
		require.True(t, ok)
		w.consumer.force(pace{name: Stalled})
		event, _, ok := w.Next()
		require.True(t, ok, "what follows an error is evidence")
		require.Equal(t, int64(3), event.RV)
		began := time.Now()
		_, _, ok = w.Next()
		require.False(t, ok)
		require.Equal(t, maxEndAfterError, time.Since(began))
		require.Equal(t, model.ClosedByClient, r.streams[0].Reason)
	})
}

func TestAFrozenRecordingKeepsWhatIsUnderWayPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, r, _ := open(t.Context(), newScripted(model.Event{Type: model.Added, RV: 1}))
		op := &model.Operation{Kind: model.Get}
		record := r.beginOperation(op)
		time.Sleep(time.Second)
		r.freeze([]model.Informer{{Client: "informer-0"}})
		r.freeze(nil)
		op.ResultRV = 7
		r.endOperation(record, op)
		r.beginOperation(&model.Operation{})
		r.beginStream(&model.Stream{})
		_, _, ok := w.Next()
		require.False(t, ok)
		w.Stop()
		var history model.History
		r.fill(&history)
		require.Equal(t, []model.Operation{{ID: 2, Kind: model.Get, Return: model.Pending}}, history.Operations)
		require.Equal(t, []model.Stream{{
			ID: 1, Client: "watcher-0", Server: "apiserver-0", Closed: model.Pending,
		}}, history.Streams)
		require.Len(t, history.Informers, 1)
	})
}

// A change that no client made, such as an expiry, is known once a stream has delivered it.
func TestTheLastChangeIsTheNewestThatAnybodyHasSeen(t *testing.T) {
	r := newRecorder(time.Now())
	write := &model.Operation{Kind: model.Create, Scope: model.Scope{Namespace: "blue", Name: "a"}, ResultRV: 3}
	r.endOperation(r.beginOperation(write), write)
	read := &model.Operation{Kind: model.List, ResultRV: 9, Objects: []model.Object{{Namespace: "red", Name: "b", RV: 4}}}
	r.endOperation(r.beginOperation(read), read)
	require.EqualValues(t, []int64{4, 3, 4}, []int64{r.lastChange(""), r.lastChange("blue"), r.lastChange("red")})

	stream := r.beginStream(&model.Stream{})
	r.event(stream, &model.Event{Type: model.Deleted, RV: 7, Object: &model.Object{Namespace: "blue", Name: "a", RV: 7}})
	r.event(stream, &model.Event{Type: model.Bookmark, RV: 8})
	require.EqualValues(t, []int64{7, 7, 4}, []int64{r.lastChange(""), r.lastChange("blue"), r.lastChange("red")})
}
