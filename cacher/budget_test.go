package cacher

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/component-base/metrics/testutil"
	clocktesting "k8s.io/utils/clock/testing"
)

// budgeted makes a cache end watches that lag by more than a minute, on the test's clock.
func budgeted(clock *clocktesting.FakeClock) func(*setup) {
	return func(s *setup) { s.config.SlowConsumerBudget, s.config.Clock = time.Minute, clock }
}

// fill sends as many events as a result channel has room for, and one more, which waits. It returns
// that one's RV.
func fill(t testing.TB, c *Cacher, store *fakeStore) (last uint64) {
	t.Helper()
	last = resultSize + 2
	for rv := uint64(2); rv <= last; rv++ {
		store.send(watch.Added, rv, newTestPod(fmt.Sprint(rv)))
	}
	dispatched(t, c, last)
	return last
}

// rest reads a watch up to its end.
func rest(t testing.TB, w watch.Interface) (got []string) {
	t.Helper()
	for {
		e := next(t, w)
		if e == "closed" {
			return got
		}
		got = append(got, e)
	}
}

// A watch ends when an event has waited for room for the length of the budget. The consumer gets
// all earlier events, and no error: it can resume from there.
func TestTheBudgetOfASlowConsumer(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	c, store := newFakeFixture(t, budgeted(clock))
	terminated, err := testutil.GetCounterMetricValue(c.metrics.fellBehind)
	require.NoError(t, err)
	slow, fast := open(t, c, nil), open(t, c, nil)
	timers := 2 // the dispatcher's and that of compaction
	require.Eventually(t, func() bool { return clock.Waiters() == timers }, patience, time.Millisecond)
	last := fill(t, c, store)
	require.Eventually(t, func() bool { return clock.Waiters() == timers+2 }, patience, time.Millisecond, "both wait")
	for rv := uint64(2); rv <= last; rv++ {
		require.Equal(t, fmt.Sprintf("ADDED %d %d", rv, rv), next(t, fast))
	}
	clock.Step(time.Minute - 1)
	require.Equal(t, 2, c.Watchers())
	clock.Step(1)
	require.Eventually(t, func() bool { return c.Watchers() == 1 }, patience, time.Millisecond)
	got := rest(t, slow)
	require.Len(t, got, resultSize)
	require.Equal(t, fmt.Sprintf("ADDED %d %d", last-1, last-1), got[resultSize-1])
	now, err := testutil.GetCounterMetricValue(c.metrics.fellBehind)
	require.NoError(t, err)
	require.Equal(t, terminated+1, now)

	resumed := open(t, c, from(fmt.Sprint(last-1)))
	require.Equal(t, fmt.Sprintf("ADDED %d %d", last, last), next(t, resumed))
	store.send(watch.Added, last+1, newTestPod("more"))
	require.Equal(t, fmt.Sprintf("ADDED more %d", last+1), next(t, fast))
}

// A consumer that resumes with old events, or receives its initial state, is not slow because of
// their age.
func TestTheBudgetBeginsWithTheWatch(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	c, store := newFakeFixture(t, budgeted(clock))
	last := fill(t, c, store)
	for i := range 2 * resultSize {
		last++
		store.send(watch.Added, last, newTestPod(fmt.Sprint("0", i)))
	}
	dispatched(t, c, last)
	clock.Step(time.Hour)

	old, initial := open(t, c, nil), open(t, c, from("0"))
	require.Equal(t, "ADDED 2 2", next(t, old))
	require.Equal(t, "ADDED 00 13", next(t, initial))
	require.Equal(t, 2, c.Watchers())
	clock.Step(time.Hour)
	require.Eventually(t, func() bool { return c.Watchers() == 1 }, patience, time.Millisecond, "the old one is slow now")
	require.Len(t, rest(t, old), resultSize)
	for range last - 2 {
		next(t, initial)
	}
	store.send(watch.Added, last+1, newTestPod("more"))
	require.Equal(t, fmt.Sprintf("ADDED more %d", last+1), next(t, initial))
}

// Without a budget a consumer may be slow, as long as the window has what it needs.
func TestWithoutABudgetTheWindowDecides(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	c, store := newFakeFixture(t, onClock(clock))
	w := open(t, c, nil)
	last := fill(t, c, store)
	clock.Step(24 * time.Hour)
	for rv := uint64(2); rv <= last; rv++ {
		require.Equal(t, fmt.Sprintf("ADDED %d %d", rv, rv), next(t, w))
	}
}
