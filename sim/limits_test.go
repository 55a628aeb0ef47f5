package sim_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
)

func waitsForNobody(c chan int) { <-c }

func TestDeadlockIsReportedWithStacks(t *testing.T) {
	result := isolate.Try(t, sim.Config{Source: sim.FromSeed(1)}, func(_ testing.TB, w *sim.World) {
		c := make(chan int)
		w.Process("stuck").Go(func() { waitsForNobody(c) })
		waitsForNobody(c)
	})
	require.Equal(t, sim.Deadlock, result.Stop)
	require.Contains(t, result.Stacks, "[world #1")
	require.Contains(t, result.Stacks, "[stuck #2")
	require.Contains(t, result.Stacks, "sim_test.waitsForNobody")
	require.NotContains(t, result.Stacks, "\n\n\n", "expected one empty line between two goroutines")
}

func TestLivelockEndsAtTheBudgetOfDecisions(t *testing.T) {
	limits := sim.Limits{Decisions: 10_000}
	result := isolate.Try(t, sim.Config{Source: sim.FromSeed(1), Limits: limits}, func(_ testing.TB, w *sim.World) {
		ping, pong := make(chan int), make(chan int)
		for range 2 {
			go func() {
				for v := range ping {
					pong <- v
				}
			}()
			go func() {
				for v := range pong {
					ping <- v
				}
			}()
		}
		ping <- 1
		ping <- 2
		select {}
	})
	require.Equal(t, sim.DecisionBudget, result.Stop)
	require.EqualValues(t, 10_000, result.Decisions)
	require.Contains(t, result.Stacks, "TestLivelockEnds")
}

func TestWaitWithoutEndEndsAtTheBudgetOfTime(t *testing.T) {
	limits := sim.Limits{Simulated: time.Minute}
	result := isolate.Try(t, sim.Config{Source: sim.FromSeed(1), Limits: limits}, func(_ testing.TB, w *sim.World) {
		go func() {
			for range time.Tick(time.Second) {
				continue
			}
		}()
		waitsForNobody(make(chan int))
	})
	require.Equal(t, sim.TimeBudget, result.Stop)
	require.Equal(t, time.Minute, result.Simulated)
	require.Contains(t, result.Stacks, "sim_test.waitsForNobody")
}

func TestTapeLimitIsReported(t *testing.T) {
	result := isolate.Run(t, sim.Config{
		Source: sim.FromSeed(1), Schedule: sim.DefaultSchedule, Record: true, Limits: sim.Limits{TapeBytes: 64},
	}, func(_ testing.TB, w *sim.World) { jumble(w) })
	require.True(t, result.TapeFull)
	require.LessOrEqual(t, len(result.Tape), 64)
}

func TestPollingTakesTime(t *testing.T) {
	var mu sync.Mutex
	for name, poll := range map[string]func(done *bool, until time.Time) bool{
		"clock":   func(_ *bool, until time.Time) bool { return time.Now().After(until) },
		"Gosched": func(done *bool, _ time.Time) bool { runtime.Gosched(); return *done },
		"mutex":   func(done *bool, _ time.Time) bool { mu.Lock(); defer mu.Unlock(); return *done },
	} {
		t.Run(name, func(t *testing.T) {
			result := isolate.Run(t, sim.Config{Source: sim.FromSeed(1)}, func(testing.TB, *sim.World) {
				done := false
				go func() {
					time.Sleep(time.Second)
					mu.Lock()
					defer mu.Unlock()
					done = true
				}()
				for until := time.Now().Add(time.Second); !poll(&done, until); {
				}
			})
			require.InDelta(t, 100, result.Spins, 2, "each takes 10 ms")
			require.GreaterOrEqual(t, result.Simulated, time.Second)
		})
	}
}
