package shrink

import (
	"bytes"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/cluster/scenario"
)

func TestTapesDivergeAtTheirFirstOtherChoice(t *testing.T) {
	long := append(bytes.Repeat([]byte{3}, 20), 255, 1, 2, 0, 0, 7, 0, 0)
	with := func(at int, b byte) []byte {
		changed := bytes.Clone(long)
		changed[at] = b
		return changed
	}
	for name, row := range map[string]struct {
		tape []byte
		want uint64
	}{
		"at once":                     {[]byte{0}, 0},
		"a choice":                    {with(15, 4), 15 - early},
		"inside of a long choice":     {with(22, 3), 20 - early},
		"after a long choice":         {with(25, 8), 21 - early},
		"plain where the other ended": {append(bytes.Clone(long), 0, 0, 1), 26 - early},
		"nowhere":                     {bytes.TrimRight(long, "\x00"), 0},
	} {
		require.EqualValues(t, row.want, divergesAt(row.tape, long), name)
		require.EqualValues(t, row.want, divergesAt(long, row.tape), name)
	}
}

func TestCandidatesWithOtherTapesAloneShareARun(t *testing.T) {
	one, other := scenario.Spec{Seed: 1}, scenario.Spec{Seed: 2}
	cases := []Case{{one, []byte{1}}, {one, []byte{2}}, {other, []byte{2}}, {other, []byte{2}}, {other, []byte{3}}}
	require.Equal(t, [][]int{{0, 1}, {2}, {3, 4}}, sharing(cases))
	require.Len(t, sharing(make([]Case, 3)), 3, "the same one is no other tape")
}

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
