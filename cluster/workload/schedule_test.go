package workload

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSchedulesSpreadAndBurst(t *testing.T) {
	active := 45 * time.Second
	bursts := drawBursts(streams(1)("bursts"), 3, active)
	times := drawSchedule(streams(1)("client"), 300, active, bursts)
	require.Len(t, times, 300)
	require.IsIncreasing(t, append([]time.Duration{0}, bursts...))
	var inBursts int
	var quarters [4]int
	for i, at := range times {
		require.Positive(t, at)
		require.LessOrEqual(t, at, active+burstSpread)
		if i > 0 {
			require.GreaterOrEqual(t, at, times[i-1])
		}
		quarters[min(3, int(at*4/active))]++
		for _, burst := range bursts {
			if at > burst && at <= burst+burstSpread {
				inBursts++
			}
		}
	}
	require.InDelta(t, 100, inBursts, 40)
	for _, count := range quarters {
		require.Greater(t, count, 30)
	}
	require.Len(t, drawSchedule(streams(1)("client"), 5, active, nil), 5)
}

func TestFollowKeepsToTheScheduleAndItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		clocked := func() *client {
			return &client{began: began, numbers: newNumbers(func() *rand.Rand { return streams(1)("client") }), taken: &Part{}}
		}
		schedule := []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second, 9 * time.Second}
		var acts []time.Duration
		clocked().follow(t.Context(), schedule, func(int) int {
			acts = append(acts, time.Since(began))
			switch len(acts) {
			case 1:
				return 2 // uses up the instant at 2s
			case 2:
				time.Sleep(1500 * time.Millisecond) // overruns the instant at 4s
			}
			return 1
		})
		require.Equal(t, []time.Duration{time.Second, 3 * time.Second, 4500 * time.Millisecond, 9 * time.Second}, acts)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		clocked().follow(ctx, schedule[1:], func(int) int { t.Error("acts after the end"); return 1 })
		require.Equal(t, time.Second, time.Since(began))
	})
}

func TestBackoffDoublesUpToItsMaximum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b backoff
		random := streams(1)("backoff")
		for _, most := range []time.Duration{100, 200, 400, 800, 1600, 3000, 3000} {
			began := time.Now()
			require.True(t, b.fail(t.Context(), random))
			require.LessOrEqual(t, time.Since(began), most*time.Millisecond+2)
			require.GreaterOrEqual(t, time.Since(began), most*time.Millisecond/2)
		}
		b.succeed()
		began := time.Now()
		b.fail(t.Context(), random)
		require.LessOrEqual(t, time.Since(began), 101*time.Millisecond)
	})
}
