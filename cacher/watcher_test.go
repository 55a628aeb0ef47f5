package cacher

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// small makes a window of 20 events.
func small(s *setup) { s.config.MinEvents, s.config.MaxEvents = 20, 20 }

// A consumer that does not read delays nobody. Its stream ends with a 410 once the window has
// passed it, after a prefix of the events.
func TestASlowConsumerDelaysOnlyItself(t *testing.T) {
	c, store := newFakeFixture(t, small)
	slow, fast := open(t, c, nil), open(t, c, nil)
	for rv := uint64(2); rv <= 1000; rv++ {
		store.send(watch.Added, rv, newTestPod(fmt.Sprint(rv)))
		require.Equal(t, fmt.Sprintf("ADDED %d %d", rv, rv), next(t, fast))
	}
	last := uint64(1)
	for {
		got := next(t, slow)
		if got == "ERROR 410" {
			break
		}
		last++
		require.Equal(t, fmt.Sprintf("ADDED %d %d", last, last), got)
	}
	require.Less(t, last, uint64(100), "the slow consumer had no buffer to speak of")
	require.Equal(t, "closed", next(t, slow))
	require.Equal(t, 1, c.Watchers())
}

// The window does not pass a watch that none of its events concern.
func TestAnIdleWatchDoesNotFallBehind(t *testing.T) {
	c, store := newFakeFixture(t, small, indexed)
	w := open(t, c, func(o *storage.ListOptions) {
		o.Predicate.Field = fields.OneTermEqualSelector(nodeField, "mine")
	})
	for rv := uint64(2); rv <= 500; rv++ {
		store.send(watch.Added, rv, onNode(fmt.Sprint(rv), "other"))
	}
	store.send(watch.Added, 501, onNode("a", "mine"))
	store.send(watch.Modified, 502, onNode("a", "other"))
	require.Equal(t, "ADDED a 501", next(t, w))
	require.Equal(t, "DELETED a 502", next(t, w))
}

// An idle watch has no goroutine.
func TestIdleWatchesHaveNoGoroutines(t *testing.T) {
	c, store := newFakeFixture(t)
	before := runtime.NumGoroutine()
	for range 1000 {
		open(t, c, nil)
	}
	settles := func() {
		t.Helper()
		require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+10 }, patience, time.Millisecond)
	}
	settles()
	store.send(watch.Added, 2, newTestPod("a")) // fits in the result channels
	reach(t, c, 2)
	settles()
}

func TestOneWatchTooManyIsRefused(t *testing.T) {
	c, _ := newFakeFixture(t, func(s *setup) { s.config.MaxWatchers = 2 })
	first := open(t, c, nil)
	open(t, c, nil)
	_, err := c.Watch(t.Context(), podPrefix, allPods(""))
	require.True(t, apierrors.IsTooManyRequests(err), err)
	require.ErrorContains(t, err, "watch limit exceeded")
	first.Stop()
	open(t, c, nil)
}

func TestAWatchEndsWithItsContextOnceOnly(t *testing.T) {
	c, store := newFakeFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	w, err := c.Watch(ctx, podPrefix, allPods("1"))
	require.NoError(t, err)
	store.send(watch.Added, 2, newTestPod("a"))
	require.Equal(t, "ADDED a 2", next(t, w))
	cancel()
	require.Equal(t, "closed", next(t, w))
	w.Stop()
	w.Stop()
	require.Zero(t, c.Watchers())
}

// Stop ends every watch: an idle one, one that waits for its consumer, and one that is sending its
// initial state.
func TestStopEndsAllWatches(t *testing.T) {
	c, store := newFakeFixture(t)
	before := runtime.NumGoroutine()
	for rv := uint64(2); rv <= 100; rv++ {
		store.send(watch.Added, rv, newTestPod(fmt.Sprint(rv)))
	}
	reach(t, c, 100)
	watches := []watch.Interface{
		open(t, c, from("100")),
		open(t, c, nil),
		open(t, c, from("0")),
	}
	c.Stop()
	for _, w := range watches {
		for next(t, w) != "closed" {
		}
	}
	require.Eventually(t, func() bool { return runtime.NumGoroutine() < before }, patience, time.Millisecond)
	_, err := c.Watch(t.Context(), podPrefix, allPods(""))
	require.ErrorContains(t, err, errStopped.Error())
	require.ErrorIs(t, c.Wait(t.Context()), errStopped)
}

func TestWatchFrom(t *testing.T) {
	yes, no := true, false
	for name, row := range map[string]struct {
		rv      string
		initial *bool
		want    string // after a change at RV 102 and one at RV 103
	}{
		"before the window":             {"79", nil, "ERROR 410"},
		"the last RV before the window": {"80", nil, "MODIFIED a 81"},
		"within the window":             {"99", nil, "MODIFIED a 100"},
		"any RV":                        {"0", nil, "ADDED a 100"},
		"unset":                         {"", nil, "ADDED a 100"},
		"now":                           {"0", &no, "MODIFIED a 102"},
		"now, by RV":                    {"100", nil, "MODIFIED a 102"},
		"a future RV":                   {"102", nil, "MODIFIED a 103"},
		"initial events, an old RV":     {"5", &yes, "ADDED a 100"},
		"initial events, most recent":   {"", &yes, "ADDED a 100"},
	} {
		t.Run(name, func(t *testing.T) {
			c, store := newFakeFixture(t, small)
			for rv := uint64(2); rv <= 100; rv++ {
				store.send(watch.Modified, rv, newTestPod("a"))
				if rv%20 == 0 || rv > 80 {
					dispatched(t, c, rv)
				}
			}
			w := open(t, c, func(o *storage.ListOptions) { o.ResourceVersion, o.SendInitialEvents = row.rv, row.initial })
			if slices.Contains([]string{"MODIFIED a 102", "MODIFIED a 103"}, row.want) { // what comes later also makes the window move
				store.send(watch.Modified, 102, newTestPod("a"))
				store.send(watch.Modified, 103, newTestPod("a"))
			}
			require.Equal(t, row.want, next(t, w))
		})
	}
}
