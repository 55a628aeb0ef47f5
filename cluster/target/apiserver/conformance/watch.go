package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
)

func (f *fixture) watch(stream model.Stream) target.Watch {
	f.t.Helper()
	w := f.server.Watch(f.context(), &stream)
	require.NotNil(f.t, w, stream.Message)
	f.t.Cleanup(w.Stop)
	return w
}

func (f *fixture) next(w target.Watch) model.Event {
	f.t.Helper()
	event, reason, ok := w.Next()
	require.True(f.t, ok, reason)
	return event
}

// requireEvent also changes the object that it gets, which must be the watch's own.
func (f *fixture) requireEvent(w target.Watch, kind model.EventType, object model.Object) {
	f.t.Helper()
	event := f.next(w)
	require.Equal(f.t, model.Event{Type: kind, RV: object.RV, Object: &object}, event)
	clear(event.Object.Labels)
}

func testWatchFollowsTheSelector(t *testing.T, f *fixture) {
	start := f.create(object("n", "z", "0")).RV
	byNode := f.watch(model.Stream{RV: start, Selector: model.Selector{Node: "node-1"}})
	byLabel := f.watch(model.Stream{RV: start, Selector: model.Selector{Labels: map[string]string{"app": "x"}}})
	byName := f.watch(model.Stream{RV: start, Scope: model.Scope{Namespace: "n", Name: "a"}})
	elsewhere := f.watch(model.Stream{RV: start, Scope: model.Scope{Namespace: "m"}})

	outside := f.create(object("n", "a", "1"))
	inside := *object("n", "a", "2")
	inside.Node, inside.Labels = "node-1", map[string]string{"app": "x"}
	inside = f.update(&inside)
	inside2 := inside
	inside2.Value = "3"
	inside2 = f.update(&inside2)
	left := f.update(object("n", "a", "4"))
	deleted := left
	deleted.RV = f.delete("n", "a")
	other := f.create(object("m", "a", "1"))

	gone := inside2
	gone.RV = left.RV
	for _, w := range []target.Watch{byNode, byLabel} {
		f.requireEvent(w, model.Added, inside)
		f.requireEvent(w, model.Modified, inside2)
		f.requireEvent(w, model.Deleted, gone)
	}
	f.requireEvent(byName, model.Added, outside)
	f.requireEvent(byName, model.Modified, inside)
	f.requireEvent(byName, model.Modified, inside2)
	f.requireEvent(byName, model.Modified, left)
	f.requireEvent(byName, model.Deleted, deleted)
	f.requireEvent(elsewhere, model.Added, other)
}

func testWatchSendsTheInitialStateAndItsEnd(t *testing.T, f *fixture) {
	a := f.create(object("n", "a", "1"))
	b := f.create(object("n", "b", "1"))
	for _, rv := range []int64{model.RVUnset, 0, b.RV} {
		w := f.watch(model.Stream{RV: rv, Bookmarks: true, InitialEvents: true})
		f.requireEvent(w, model.Added, a)
		f.requireEvent(w, model.Added, b)
		end := f.next(w)
		require.Equal(t, model.Event{Type: model.Bookmark, RV: end.RV, InitialEnd: true}, end)
		require.GreaterOrEqual(t, end.RV, b.RV)
	}

	// Without bookmarks, nothing marks the end of the initial state.
	w := f.watch(model.Stream{RV: 0})
	f.requireEvent(w, model.Added, a)
	f.requireEvent(w, model.Added, b)
	f.requireEvent(w, model.Added, f.create(object("n", "c", "1")))
}

// The cacher sends a last bookmark two seconds before the request's timeout.
func testWatchGetsABookmarkBeforeItsTimeout(t *testing.T, f *fixture) {
	rv := f.create(object("n", "a", "1")).RV
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	w := f.server.Watch(ctx, &model.Stream{RV: rv, Bookmarks: true, Scope: model.Scope{Namespace: "n"}})
	require.NotNil(t, w)
	rv = f.create(object("m", "a", "1")).RV // the bookmark's RV is that of a change outside the watch's scope
	bookmark := model.Event{Type: model.Bookmark, RV: rv}
	require.Equal(t, bookmark, f.next(w))
	event, reason, ok := w.Next()
	for ; ok; event, reason, ok = w.Next() {
		require.Equal(t, bookmark, event, "a machine that is held up may see the next one as well, and nothing else")
	}
	require.Equal(t, model.ClosedByServer, reason)
}

func testWatchesThatAreRefused(t *testing.T, f *fixture) {
	bad := &model.Stream{RV: -2}
	require.Nil(t, f.server.Watch(f.context(), bad))
	require.Equal(t, model.Invalid, bad.Err, bad.Message)

	early := f.create(object("n", "a", "1")).RV
	late := f.update(object("n", "a", "2")).RV
	f.server = f.start(target.ServerConfig{}) // its window begins here
	for want, stream := range map[model.Code]model.Stream{
		model.Expired:  {RV: early},
		model.TooLarge: {RV: late + 1000, InitialEvents: true, Bookmarks: true},
	} {
		w := f.watch(stream)
		event := f.next(w)
		require.Equal(t, model.Error, event.Type)
		require.Equal(t, want, event.Err, event.Message)
		require.Equal(t, model.ClosedByError, end(w))
	}
}

func testStopEndsAWaitingNext(t *testing.T, f *fixture) {
	rv := f.create(object("n", "a", "1")).RV
	ctx, cancel := context.WithCancel(t.Context())
	stopped := f.watch(model.Stream{RV: rv})
	cancelled := f.server.Watch(ctx, &model.Stream{RV: rv})
	reasons := make(chan model.CloseReason, 2)
	for _, w := range []target.Watch{stopped, cancelled} {
		go func() {
			_, reason, _ := w.Next()
			reasons <- reason
		}()
	}
	stopped.Stop()
	stopped.Stop()
	cancel()
	require.Equal(t, model.ClosedByClient, <-reasons)
	require.Equal(t, model.ClosedByClient, <-reasons)
}

// testTheCacherCountsItsWatchers fails when a release renames the fields that the
// counter reads.
func testTheCacherCountsItsWatchers(t *testing.T, f *fixture) {
	start := f.create(object("n", "a", "1")).RV
	counter := f.server.(target.Counter)
	require.Zero(t, counter.Watchers())
	open := []target.Watch{
		f.watch(model.Stream{RV: start}),
		f.watch(model.Stream{RV: start}),
		f.watch(model.Stream{RV: start, Scope: model.Scope{Namespace: "n"}}),
		f.watch(model.Stream{RV: start, Selector: model.Selector{Node: "node-1"}}),
	}
	require.Equal(t, len(open), counter.Watchers())
	for i, w := range open {
		w.Stop()
		require.Eventually(t, func() bool { return counter.Watchers() == len(open)-i-1 }, patience, time.Millisecond)
	}
}

// testMutatingConsumers is a small version of Isolated: four streams mutate every
// object they receive, one does not. No mutation may be visible, not even to a later
// watch.
func testMutatingConsumers(t *testing.T, f *fixture) {
	start := f.create(object("n", "z", "0")).RV
	var watches []target.Watch
	for id := range 5 {
		watches = append(watches, f.watch(model.Stream{ID: id, RV: start, Mutates: id != 0}))
	}
	labelled := func(value string) *model.Object {
		return &model.Object{Namespace: "n", Name: "a", Value: value, Node: "node-1", Labels: map[string]string{"app": "web"}}
	}
	added := f.create(labelled("1"))
	modified := f.update(labelled("2"))
	deleted := modified
	deleted.RV = f.delete("n", "a")
	watches = append(watches, f.watch(model.Stream{ID: 6, RV: start, Mutates: true}), f.watch(model.Stream{ID: 7, RV: start}))
	for _, w := range append(watches, f.watch(model.Stream{RV: start})) {
		f.requireEvent(w, model.Added, added)
		f.requireEvent(w, model.Modified, modified)
		f.requireEvent(w, model.Deleted, deleted)
	}
}
