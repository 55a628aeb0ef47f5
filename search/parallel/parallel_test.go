package parallel_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/parallel"
)

var errBroken = errors.New("broken")

// counting returns the numbers below n, one after the other.
func counting(n int) func() (int, bool) {
	i := -1
	return func() (int, bool) {
		i++
		return i, i < n
	}
}

func TestRunFillsItsSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		taken := map[int]int{}
		began := time.Now()
		require.NoError(t, parallel.Run(t.Context(), 4, counting(20), func(_ context.Context, i int) (int, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			time.Sleep(time.Second)
			return 2 * i, nil
		}, func(i, doubled int) error { taken[i] = doubled; return nil }))
		require.Len(t, taken, 20)
		require.Equal(t, 38, taken[19])
		require.EqualValues(t, 4, most.Load())
		require.Equal(t, 5*time.Second, time.Since(began))
	})
}

// Work that ends its goroutine, as a skipped test does, is an error.
func TestAnExitedGoroutineIsAnError(t *testing.T) {
	err := parallel.Each(t.Context(), 1, []int{1, 2}, func(context.Context, int) error {
		runtime.Goexit()
		return nil
	})
	require.ErrorContains(t, err, "ended its goroutine")
}

// TestItemsMayDependOnOthers: next has nothing for now, and something again later.
func TestItemsMayDependOnOthers(t *testing.T) {
	ready, taken := []int{1}, 0
	next := func() (int, bool) {
		if len(ready) == 0 {
			return 0, false
		}
		first := ready[0]
		ready = ready[1:]
		return first, true
	}
	require.NoError(t, parallel.Run(t.Context(), 2, next, func(_ context.Context, i int) (int, error) { return i, nil },
		func(i, _ int) error {
			taken++
			if i < 8 {
				ready = append(ready, 2*i, 2*i+1)
			}
			return nil
		}))
	require.Equal(t, 15, taken)
}

func TestErrorsEndARun(t *testing.T) {
	for name, row := range map[string]struct{ do, done error }{"of do": {errBroken, nil}, "of done": {nil, errBroken}} {
		synctest.Test(t, func(t *testing.T) {
			var began, interrupted atomic.Int64
			err := parallel.Run(t.Context(), 3, counting(100), func(ctx context.Context, i int) (int, error) {
				began.Add(1)
				if i == 1 {
					return i, row.do
				}
				<-ctx.Done()
				interrupted.Add(1)
				return i, ctx.Err()
			}, func(int, int) error { return row.done })
			require.ErrorIs(t, err, errBroken, name)
			require.LessOrEqual(t, began.Load(), int64(4), name)
			require.Equal(t, began.Load()-1, interrupted.Load(), "Run returns when nothing is under way")
		})
	}
}

// TestInterruptedRun: work in progress is waited for and not lost if it still succeeds.
func TestInterruptedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errBroken) })
		var taken []int
		err := parallel.Run(ctx, 2, counting(100), func(ctx context.Context, i int) (int, error) {
			if i == 0 {
				<-ctx.Done()
				return i, ctx.Err()
			}
			time.Sleep(5 * time.Second)
			return i, nil
		}, func(i, _ int) error { taken = append(taken, i); return nil })
		require.ErrorIs(t, err, errBroken)
		require.Equal(t, []int{1}, taken)
	})
}

func TestEach(t *testing.T) {
	var sum atomic.Int64
	add := func(_ context.Context, n int64) error { sum.Add(n); return nil }
	require.NoError(t, parallel.Each(t.Context(), 0, []int64{1, 2, 3}, add))
	require.EqualValues(t, 6, sum.Load())
	require.NoError(t, parallel.Each(t.Context(), 8, nil, add))
}
