package shrink

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestFirstOfIsTheSameForAnyNumberOfWorkers(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		holds := rapid.SliceOfN(rapid.Bool(), 0, 20).Draw(r, "holds")
		takes := rapid.SliceOfN(rapid.IntRange(0, 100), len(holds), len(holds)).Draw(r, "takes")
		want := -1
		for i := len(holds) - 1; i >= 0; i-- {
			if holds[i] {
				want = i
			}
		}
		for _, workers := range []int{1, 2, 3, 8} {
			synctest.Test(t, func(t *testing.T) {
				require.Equal(t, want, firstOf(workers, len(holds), func(i int) bool {
					time.Sleep(time.Duration(takes[i]) * time.Millisecond)
					return holds[i]
				}))
			})
		}
	})
}

func TestFirstOfUsesAllWorkersAndStopsAtTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most, tried atomic.Int64
		var mu sync.Mutex
		found := firstOf(4, 100, func(i int) bool {
			tried.Add(1)
			mu.Lock()
			most.Store(max(most.Load(), running.Add(1)))
			mu.Unlock()
			time.Sleep(time.Second)
			running.Add(-1)
			return i == 5
		})
		require.Equal(t, 5, found)
		require.EqualValues(t, 4, most.Load())
		require.LessOrEqual(t, tried.Load(), int64(8+3), "those under way, and what they took up at the same instant")
	})
}
