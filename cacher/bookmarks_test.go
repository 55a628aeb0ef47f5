package cacher

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	clocktesting "k8s.io/utils/clock/testing"
)

// onClock makes a cache use a clock of the test's.
func onClock(clock *clocktesting.FakeClock) func(*setup) {
	return func(s *setup) { s.config.Clock = clock }
}

// bookmarked opens a watch that wants bookmarks, with a context of its own.
func bookmarked(t testing.TB, ctx context.Context, c *Cacher) watch.Interface {
	t.Helper()
	options := allPods("1")
	options.Predicate.AllowWatchBookmarks = true
	w, err := c.Watch(ctx, podPrefix, options)
	require.NoError(t, err)
	t.Cleanup(w.Stop)
	return w
}

// nextDue is when the next bookmark is due, once that lies ahead.
func nextDue(t testing.TB, c *Cacher, clock *clocktesting.FakeClock) (due time.Time) {
	t.Helper()
	require.Eventually(t, func() bool {
		c.watchers.mu.Lock()
		defer c.watchers.mu.Unlock()
		if queue := c.watchers.bookmarks.queue; len(queue) > 0 {
			due = queue[0].bookmarks.next
		}
		return due.After(clock.Now())
	}, patience, time.Millisecond)
	return due
}

// nextOn is next for events that come with time. It advances the clock until one comes: the
// dispatcher may have been about to set its timer when the clock was changed.
func nextOn(t testing.TB, clock *clocktesting.FakeClock, w watch.Interface) string {
	t.Helper()
	require.Eventually(t, func() bool {
		clock.Step(time.Second)
		return len(w.ResultChan()) > 0
	}, patience, 10*time.Millisecond)
	return next(t, w)
}

// none checks that nothing more is delivered: a watch with nothing to send has no goroutine that
// could.
func none(t testing.TB, w watch.Interface) {
	t.Helper()
	require.Eventually(t, func() bool {
		running := w.(*watcher)
		running.mu.Lock()
		defer running.mu.Unlock()
		return !running.running && !running.bookmarkDue
	}, patience, time.Millisecond)
	require.Empty(t, w.ResultChan())
}

// A watch that wants bookmarks gets one in each period, with the RV of the cache, even if no event
// concerns the watch. Without news there is none.
func TestBookmarksComeInTime(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	c, store := newFakeFixture(t, onClock(clock), indexed)
	asks := func(bookmarks bool) watch.Interface {
		return open(t, c, func(o *storage.ListOptions) {
			o.Predicate.AllowWatchBookmarks = bookmarks
			o.Predicate.Field = fields.OneTermEqualSelector(nodeField, "mine")
		})
	}
	w, without := asks(true), asks(false)
	for rv := uint64(2); rv <= 10; rv++ {
		due := nextDue(t, c, clock)
		require.LessOrEqual(t, due.Sub(clock.Now()), DefaultBookmarkPeriod)
		store.send(watch.Added, rv, onNode("a", "other"))
		dispatched(t, c, rv)
		clock.SetTime(due.Add(-1))
		none(t, w)
		require.Equal(t, "BOOKMARK  "+fmt.Sprint(rv), nextOn(t, clock, w))
	}
	none(t, without)
}

// A watch gets no bookmark at its own starting RV.
func TestNoBookmarkAtTheStart(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	c, _ := newFakeFixture(t, onClock(clock))
	w := bookmarked(t, t.Context(), c)
	for range 3 {
		due := nextDue(t, c, clock)
		require.Eventually(t, func() bool { clock.Step(time.Second); return nextDue(t, c, clock).After(due) }, patience, time.Millisecond)
	}
	none(t, w)
}

// clockContext is a context with a deadline on a test's clock.
type clockContext struct {
	context.Context
	deadline time.Time
}

func (c clockContext) Deadline() (time.Time, bool) { return c.deadline, true }

// A bookmark is due in each period, and one shortly before the watch times out, from which its
// client resumes; none after that.
func TestWhenTheNextBookmarkIsDue(t *testing.T) {
	config, err := podConfig(newFakeStore()).complete()
	require.NoError(t, err)
	start := time.Now()
	for _, row := range []struct {
		deadline, now, want time.Duration // after the start; 0 for none
	}{
		{0, 0, 60 * time.Second},
		{0, 90 * time.Second, 150 * time.Second},
		{30 * time.Second, 0, 28 * time.Second},
		{30 * time.Second, 28 * time.Second, 0},
		{30 * time.Second, 40 * time.Second, 0},
		{150 * time.Second, 0, 60 * time.Second},
		{150 * time.Second, 60 * time.Second, 120 * time.Second},
		{150 * time.Second, 120 * time.Second, 148 * time.Second},
		{time.Second, 0, 0},
	} {
		w := &watcher{cacher: &Cacher{config: config}}
		if row.deadline > 0 {
			w.bookmarks.deadline = start.Add(row.deadline)
		}
		next := w.nextBookmark(start.Add(row.now))
		if row.want == 0 {
			require.Zero(t, next, row)
		} else {
			require.Equal(t, row.want, next.Sub(start), row)
		}
	}
}

// The deadline is that of the request.
func TestTheLastBookmarkBeforeTheDeadline(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	c, store := newFakeFixture(t, onClock(clock))
	w := bookmarked(t, clockContext{t.Context(), clock.Now().Add(30 * time.Second)}, c)
	store.send(watch.Added, 2, newTestPod("a"))
	require.Equal(t, "ADDED a 2", next(t, w))
	due := nextDue(t, c, clock)
	require.Equal(t, 28*time.Second, due.Sub(clock.Now()))
	clock.SetTime(due.Add(-1))
	none(t, w)
	require.Equal(t, "BOOKMARK  2", nextOn(t, clock, w))
	require.Eventually(t, func() bool {
		c.watchers.mu.Lock()
		defer c.watchers.mu.Unlock()
		return len(c.watchers.bookmarks.queue) == 0
	}, patience, time.Millisecond)
}

// A bookmark is sent after all events that come before its RV, however late the
// consumer takes them.
func TestABookmarkDoesNotOvertake(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	c, store := newFakeFixture(t, onClock(clock))
	w := bookmarked(t, t.Context(), c)
	last := fill(t, c, store)
	clock.SetTime(nextDue(t, c, clock))
	for rv := uint64(2); rv <= last; rv++ {
		require.Equal(t, "ADDED "+fmt.Sprint(rv)+" "+fmt.Sprint(rv), next(t, w))
	}
	require.Equal(t, "BOOKMARK  "+fmt.Sprint(last), nextOn(t, clock, w))
}
