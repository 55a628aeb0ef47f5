package sim_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
)

// exploring runs f entirely in the window, with only this file in scope.
func exploring[T any](t *testing.T, source sim.Source, delays []time.Duration, f func() T) (T, *sim.Result) {
	config := sim.Config{
		Source: source, Record: true,
		Explore: &sim.Explore{Scope: "github.com/watchsim/watchsim/sim_test.step", Delays: delays},
	}
	return isolate.Value(t, config, func(w *sim.World) T {
		w.OpenWindow()
		defer w.CloseWindow()
		return f()
	})
}

// stepInto sends that many times.
func stepInto(c chan<- int, id, times int) {
	for range times {
		c <- id
	}
}

// stepTogether has goroutines take that many steps each, on the given channels, and returns the
// order of those on the first channel.
func stepTogether(steps []int, channels ...chan int) []int {
	var all sync.WaitGroup
	for id, times := range steps {
		all.Add(1)
		go func() {
			defer all.Done()
			stepInto(channels[id%len(channels)], id, times)
		}()
	}
	all.Wait()
	var order []int
	for range len(channels[0]) {
		order = append(order, <-channels[0])
	}
	return order
}

func TestTheChoicesOfARunThatExploresAreTheAlternativesThereAre(t *testing.T) {
	two := func() []int { return stepTogether([]int{2, 2}, make(chan int, 10)) }

	order, plain := exploring(t, sim.FromSeed(1), nil, two)
	require.Equal(t, []int{0, 0, 1, 1}, order)
	require.Empty(t, sim.Trimmed(plain.Tape))
	for _, c := range plain.Explored.Choices {
		require.EqualValues(t, 2, c.Alternatives, "%+v", plain.Explored.Choices)
	}

	tape := []byte{1, 1} // the second goroutine goes first, and lets the first one go after one step
	order, other := exploring(t, sim.FromOpenTape(1, tape), nil, two)
	require.Equal(t, []int{1, 0, 0, 1}, order)
	require.Equal(t, tape, sim.Trimmed(other.Tape))
	require.NotEqual(t, plain.Explored.Shape, other.Explored.Shape)
	_, again := exploring(t, sim.FromOpenTape(1, tape), nil, two)
	require.Equal(t, other.Hash, again.Hash)
	require.Equal(t, other.Explored, again.Explored)
}

func TestHoldingSomebodyUpTakesTime(t *testing.T) {
	hold := []time.Duration{time.Second}
	one := func() []int { return stepTogether([]int{2}, make(chan int, 10)) }
	_, plain := exploring(t, sim.FromSeed(1), hold, one)
	_, held := exploring(t, sim.FromOpenTape(1, []byte{1}), hold, one)
	require.Equal(t, time.Second, held.Simulated-plain.Simulated)
	require.Equal(t, plain.Explored.Shape, held.Explored.Shape, "nothing has overtaken it")
	require.NotEqual(t, plain.Explored.State, held.Explored.State)
}

func TestARunThatIsCutShortDoesNotKnowAllItsDecisions(t *testing.T) {
	config := sim.Config{Source: sim.FromSeed(1), Explore: &sim.Explore{}}
	two := func(_ testing.TB, w *sim.World) {
		w.OpenWindow()
		stepTogether([]int{3, 3}, make(chan int, 10))
		w.CloseWindow()
	}
	whole := isolate.Run(t, config, two)
	require.Greater(t, len(whole.Explored.Choices), 2)
	require.False(t, whole.Explored.Truncated)

	config.Limits.Decisions = 2
	cut := isolate.Try(t, config, two)
	require.NotEqual(t, sim.Completed, cut.Stop)
	require.True(t, cut.Explored.Truncated)
}

func TestOutsideOfTheWindowNothingIsDecided(t *testing.T) {
	config := sim.Config{Source: sim.FromSeed(1), Explore: &sim.Explore{}}
	result := isolate.Run(t, config, func(_ testing.TB, w *sim.World) {
		stepTogether([]int{3, 3}, make(chan int, 10))
		w.OpenWindow()
		w.CloseWindow()
		stepTogether([]int{3, 3}, make(chan int, 10))
	})
	require.Empty(t, result.Explored.Choices)
	require.Zero(t, result.Decisions)
}

// What a timer's goroutine draws follows from the name of its function: the address of the function moves with whatever else is in the binary, and any edit
// would make another run of each seed that explores.
func TestRandomNumbersOfTimersInEveryBinary(t *testing.T) {
	drawn, _ := exploring(t, sim.FromSeed(1), nil, func() uint64 {
		number := make(chan uint64, 1)
		time.AfterFunc(time.Second, func() { number <- rand.Uint64() })
		return <-number
	})
	require.Equal(t, uint64(0x9612b994f07ad8fc), drawn)
}
