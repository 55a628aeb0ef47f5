package workload

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
)

// canned answers the first list with a continue token and every other one without; both
// are at RV 5.
type canned struct{ *scripted }

func (c canned) Do(_ context.Context, op *model.Operation, token string) string {
	op.ResultRV = 5
	if token == "" {
		return "page 2"
	}
	return ""
}

func TestTheObserverWorksOutWhatARequestContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := canned{newScripted()}
		r := newRecorder(time.Now())
		o := newObserver([]*session{{api: api, recorder: r, timeout: time.Second}}, newConsumer(streams(1)("informer")), pace{name: Slow})

		first, second := &model.Operation{Kind: model.List}, &model.Operation{Kind: model.List}
		require.Equal(t, "page 2", o.Do(t.Context(), first, ""))
		require.Empty(t, o.Do(t.Context(), second, "page 2"))
		require.Zero(t, first.Continues)
		require.Equal(t, first.ID, second.Continues)

		open := func(rv int64, initial bool) (target.Watch, *model.Stream) {
			stream := &model.Stream{RV: rv, InitialEvents: initial}
			opened := o.Watch(t.Context(), stream)
			require.NotNil(t, opened)
			require.Equal(t, Slow, stream.Consumer)
			return opened, stream
		}
		watch, stream := open(5, false)
		require.Equal(t, second.ID, stream.ResumesList, "a watch continues the last page")
		require.Zero(t, stream.ResumesStream)

		api.events = make(chan model.Event, 2)
		api.events <- model.Event{Type: model.Added, RV: 7}
		api.events <- model.Event{Type: model.Error, Err: model.Unknown}
		for failed := range 2 {
			_, _, ok := watch.Next()
			require.True(t, ok)
			require.Equal(t, failed == 1, o.waits(), "after an error it asks again in its own time")
		}
		_, next := open(7, false)
		require.Equal(t, stream.ID, next.ResumesStream, "an error event carries no RV")
		require.Zero(t, next.ResumesList)

		for name, request := range map[string]struct {
			rv      int64
			initial bool
			list    int
		}{
			"back to the list":      {5, false, second.ID},
			"from somewhere else":   {6, false, 0},
			"from the present":      {0, false, 0},
			"with the state afresh": {7, true, 0},
		} {
			_, stream := open(request.rv, request.initial)
			require.Zero(t, stream.ResumesStream, name)
			require.Equal(t, request.list, stream.ResumesList, name)
		}
		o.pace = pace{name: Fast}
		for delayed, consumer := range map[bool]string{false: Fast, true: Hiccuping} {
			o.delayed = delayed
			stream := &model.Stream{RV: 5}
			require.NotNil(t, o.Watch(t.Context(), stream))
			require.Equal(t, consumer, stream.Consumer, "its handler takes time: %t", delayed)
		}
		api.Stop()
	})
}

func TestAnInformerRoamsAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, canned := newScripted(), canned{newScripted()}
		slow.opening = time.Hour
		r := newRecorder(time.Now())
		o := newObserver([]*session{
			{server: "s1", api: slow, recorder: r, timeout: time.Second},
			{server: "s2", api: canned, recorder: r, timeout: time.Second},
		}, newConsumer(streams(1)("informer")), pace{name: Fast})
		failed := &model.Stream{RV: 1}
		var opened target.Watch = o.Watch(t.Context(), failed)
		require.True(t, opened == nil, "a typed nil is not nil to client-go")
		require.Equal(t, model.Unknown, failed.Err)
		require.Equal(t, "s2", o.session().server, "after a watch that failed")
		o.Do(t.Context(), &model.Operation{Kind: model.List}, "")
		require.Equal(t, "s2", o.session().server, "after a list that did not fail")
		opened = o.Watch(t.Context(), &model.Stream{RV: 5})
		opened.Stop()
		_, _, ok := opened.Next()
		require.False(t, ok)
		require.Equal(t, "s2", o.session().server, "after a watch that the client has stopped")
	})
}
