package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/model"
)

// settled returns the window of a server's cache once the cache has reached a
// resourceVersion in the given initialisation.
func (f *fixture) settled(windowed target.Windowed, filling int, rv int64) (window model.Window) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		got, now, known := windowed.Window()
		window = now
		return known && got == filling && now.Newest >= rv
	}, patience, time.Millisecond, "the cache has not got to RV %d in filling %d", rv, filling)
	return window
}

// refusal returns the error of a watch from a resourceVersion, from the response or the
// first event. A write forces an event.
func (f *fixture) refusal(rv int64) model.Code {
	f.t.Helper()
	stream := &model.Stream{RV: rv}
	watch := f.server.Watch(f.context(), stream)
	if watch == nil {
		return stream.Err
	}
	defer watch.Stop()
	f.nextID++
	f.create(object("n", fmt.Sprint("event-", f.nextID), "1"))
	event, _, ok := watch.Next()
	require.True(f.t, ok)
	return event.Err
}

// testTheWindowIsWhatWatchesCanGoOnFrom fails if a release renames the fields that the window is
// read from, or serves watches from other fields.
func testTheWindowIsWhatWatchesCanGoOnFrom(t *testing.T, f *fixture) {
	rv := int64(0)
	for i := range 5 {
		rv = f.create(object("n", fmt.Sprint("before-", i), "1")).RV
	}
	// The window of a server that starts now begins at its list.
	f.server = f.start(target.ServerConfig{})
	windowed := f.server.(target.Windowed)
	window := f.settled(windowed, 1, rv)
	require.GreaterOrEqual(t, window.Since, rv)
	since := window.Since
	require.Equal(t, model.Expired, f.refusal(since-1))
	require.Equal(t, model.OK, f.refusal(since))

	for i := range 5 {
		rv = f.create(object("n", fmt.Sprint("after-", i), "1")).RV
		require.Equal(t, since, f.settled(windowed, 1, rv).Since)
	}

	f.server.BreakWatch(faults.WatchExpired)
	window = f.settled(windowed, 2, rv)
	require.GreaterOrEqual(t, window.Since, rv)
	require.Equal(t, model.Expired, f.refusal(window.Since-1))
	require.Equal(t, model.OK, f.refusal(window.Since))

	f.server.Stop()
	filling, window, known := windowed.Window()
	require.True(t, known)
	require.Zero(t, filling)
	require.Zero(t, window)
}
