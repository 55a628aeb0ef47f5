package sim_test

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
)

// contended is a run with decisions of every kind.
func contended(t testing.TB, seed uint64, schedule sim.Schedule) *sim.Result {
	return isolate.InPlace(t, sim.Config{Source: sim.FromSeed(seed), Schedule: schedule, Record: true, Trace: true}, func(*sim.World) {
		var mu sync.Mutex
		entered := 0
		var group sync.WaitGroup
		ticks := make(chan int)
		for range 5 {
			group.Go(func() {
				for range 50 {
					mu.Lock()
					entered++
					mu.Unlock()
					select {
					case ticks <- 1:
					case <-ticks:
					case <-time.After(time.Millisecond):
					}
				}
			})
		}
		group.Wait()
	})
}

func TestDecisionsAreWrittenAndRead(t *testing.T) {
	isolate.Isolated(t, func(t testing.TB) {
		// Two, four and 256 alternatives are what picks and selects have, too: a decision is
		// not known by their number.
		schedule := sim.Schedule{YieldEvery: 2, StallOneIn: 4, StallMin: time.Millisecond, StallMax: time.Second, FocusOneIn: 2}
		result := contended(t, 3, schedule)
		decisions := slices.Collect(result.Trace.Decisions())
		require.EqualValues(t, result.Decisions, len(decisions), "every decision, and nothing else")
		kinds := map[sim.Kind]int{}
		for i, d := range decisions {
			require.EqualValues(t, i+1, d.Number)
			require.Less(t, d.Chosen, d.Of)
			kinds[d.Kind]++
		}
		for _, kind := range []sim.Kind{sim.KindPick, sim.KindYield, sim.KindStall, sim.KindFocus, sim.KindLength, sim.KindSelect} {
			require.NotZero(t, kinds[kind], kind)
		}
		require.EqualValues(t, result.Stalls, kinds[sim.KindLength])
		focused := 0
		for _, d := range decisions {
			if d.Kind == sim.KindFocus && d.Chosen == 0 {
				focused++
			}
		}
		require.EqualValues(t, result.Stalls+result.Yields, kinds[sim.KindYield]+focused)
		require.True(t, slices.ContainsFunc(decisions, func(d sim.Decision) bool {
			return d.Kind == sim.KindLength && strings.Contains(d.Callers, "sim_test.contended")
		}), "it says where")

		var file bytes.Buffer
		require.NoError(t, sim.WriteDecisions(&file, result.Trace.Decisions()))
		var failed error
		require.Equal(t, decisions, slices.Collect(sim.ReadDecisions(bytes.NewReader(file.Bytes()), &failed)))
		require.NoError(t, failed)
	})
}

func TestDecisionsThatAreNoneAreRefused(t *testing.T) {
	const header = "# watchsim decisions v2: number, simulated time, kind, chosen/alternatives, goroutine, place\n"
	for text, says := range map[string]string{
		"hello\n":                                `line 1: expected "# watchsim decisions v2`,
		header + "hello\n":                       `line 2: expected a decision such as`,
		header + "1 2s pick 0/x #1 @0\n":         `line 2: expected a decision such as`,
		header + "@1 = f\n1 2s pick 0/2 #1 @2\n": `line 3: expected a place that a line before names, found "@2"`,
		header + strings.Repeat("x", 100_000):    "token too long",
	} {
		var failed error
		require.Empty(t, slices.Collect(sim.ReadDecisions(strings.NewReader(text), &failed)))
		require.ErrorContains(t, failed, says)
	}
}
