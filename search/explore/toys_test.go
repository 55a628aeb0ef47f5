package explore

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
)

// A toy is a program small enough to count its schedules by hand. It reports whether its bug has
// shown. The functions of this file whose names begin with toy are in scope; they are not inlined,
// as their closures would get other names.
type toy func() (wrong bool)

const toyScope = "github.com/watchsim/watchsim/search/explore.toy"

// toyRunner runs attempts at a toy, one at a time.
func toyRunner(t *testing.T, program toy, delays ...time.Duration) Runner {
	return oneByOne(func(_ context.Context, attempt Attempt) (Outcome, error) {
		config := sim.Config{Explore: &sim.Explore{Scope: toyScope, Delays: delays, Observe: attempt.Observe}}
		switch {
		case attempt.Observe:
			config.Source = sim.FromSeed(attempt.Seed)
			config.Schedule = sim.DefaultSchedule
		case attempt.Priorities != nil:
			config.Source = sim.FromPriorities(attempt.Seed, *attempt.Priorities, len(delays))
		default:
			config.Source = sim.FromOpenTape(attempt.Seed, attempt.Tape())
		}
		wrong, result := isolate.Value(t, config, func(w *sim.World) bool {
			w.OpenWindow()
			defer w.CloseWindow()
			return program()
		})
		return Outcome{Failed: wrong, Explored: *result.Explored}, nil
	})
}

// oneByOne runs each of a group of attempts from its beginning.
func oneByOne(run func(context.Context, Attempt) (Outcome, error)) Runner {
	return func(ctx context.Context, attempts []Attempt) (outcomes []Outcome, _ error) {
		for _, attempt := range attempts {
			outcome, err := run(ctx, attempt)
			if err != nil {
				return nil, err
			}
			outcomes = append(outcomes, outcome)
		}
		return outcomes, nil
	}
}

// toyTogether starts functions as goroutines and waits for all of them.
func toyTogether(functions ...func()) {
	var all sync.WaitGroup
	for _, f := range functions {
		all.Add(1)
		go toyThread(f, &all)
	}
	all.Wait()
}

func toyThread(f func(), all *sync.WaitGroup) {
	f()
	all.Done()
}

// toySend sends so many times, which is a step each.
//
//go:noinline
func toySend(c chan<- int, times int) func() {
	return func() {
		for range times {
			c <- 0
		}
	}
}

// toyUpdate adds one to what lies in the box, and may lose what others add in
// between: a bug of depth 2.
//
//go:noinline
func toyUpdate(box chan int) func() {
	return func() {
		was := <-box
		box <- was
		<-box
		box <- was + 1
	}
}

func lostUpdate() bool {
	box := make(chan int, 1)
	box <- 0
	toyTogether(toyUpdate(box), toyUpdate(box))
	return <-box != 2
}

// toyFlags sets two flags one after the other, and clears them. Seeing the second set and then the
// first not set is a bug of depth 3.
//
//go:noinline
func toyFlags(first, second chan bool) func() {
	return func() {
		first <- true
		second <- true
		<-second
		<-first
	}
}

func missedFlag() bool {
	first, second := make(chan bool, 1), make(chan bool, 1)
	wrong := false
	toyTogether(toyFlags(first, second), func() { wrong = toyLook(first, second) })
	return wrong
}

func toyLook(first, second chan bool) bool {
	select {
	case second <- true:
		<-second
		return false
	default:
	}
	select {
	case first <- true:
		<-first
		return true
	default:
		return false
	}
}

func exhaust(t *testing.T, program toy, bound int, delays ...time.Duration) (Result, *Exhaustive) {
	strategy := NewExhaustive(1, bound)
	return searched(t, EndedItself, strategy, toyRunner(t, program, delays...), Limits{}), strategy
}

// searched is the result of a search that ends for the reason ended. Only one that ends by itself
// may have exhausted anything.
func searched(t *testing.T, ended string, strategy Strategy, run Runner, limits Limits) Result {
	t.Helper()
	result, err := Search(t.Context(), strategy, run, limits, nil)
	require.NoError(t, err)
	require.Equal(t, ended, result.Ended)
	if ended != EndedItself {
		require.Empty(t, result.Exhausted)
	}
	return result
}

const unbounded = 1000

// exhaustEvery deviates from known states, too.
func exhaustEvery(t *testing.T, program toy) Result {
	strategy := NewExhaustive(1, unbounded)
	strategy.FromKnown = true
	return searched(t, EndedItself, strategy, toyRunner(t, program), Limits{})
}

func TestExhaustiveSearchCountsEveryOrderOnce(t *testing.T) {
	for _, row := range []struct {
		name  string
		steps []int
		count int // of orders: the multinomial coefficient
	}{
		{"one thread", []int{3}, 1},
		{"one step each", []int{1, 1}, 2},
		{"two threads", []int{2, 2}, 6},
		{"uneven", []int{2, 4}, 15},
		{"longer", []int{4, 4}, 70},
		{"three threads", []int{1, 1, 1}, 6},
		{"three threads, two steps", []int{2, 2, 2}, 90},
	} {
		t.Run(row.name, func(t *testing.T) {
			var apart bool // each thread sends on a channel of its own
			program := func() bool {
				c := make(chan int, 100)
				var threads []func()
				for _, times := range row.steps {
					if apart {
						c = make(chan int, 100)
					}
					threads = append(threads, toySend(c, times))
				}
				toyTogether(threads...)
				return false
			}
			result, _ := exhaust(t, program, unbounded)
			require.Equal(t, row.count, result.Runs)
			require.Equal(t, row.count, result.Shapes(), "on one channel every order is another")
			require.Equal(t, "every schedule there is", result.Exhausted)

			apart = true
			result, _ = exhaust(t, program, unbounded)
			require.Equal(t, 1, result.Shapes(), "on channels of their own all orders are alike")
			every := exhaustEvery(t, program)
			require.Equal(t, row.count, every.Runs, "unless that is asked for")
			if row.count > 6 {
				require.Less(t, result.Runs, row.count, "states that were reached before are not left again")
			}
		})
	}
}

func TestABoundIsKept(t *testing.T) {
	last := 0
	for bound := range 7 {
		result, strategy := exhaust(t, two, bound)
		if last == 20 {
			require.Equal(t, "every schedule there is", result.Exhausted)
			require.Zero(t, strategy.Beyond)
			break
		}
		require.Greater(t, result.Runs, last, "bound %d", bound)
		last = result.Runs
		if result.Runs < 20 {
			require.Contains(t, result.Exhausted, "deviation")
			require.Positive(t, strategy.Beyond)
		}
	}
	require.Equal(t, 20, last, "there are as many orders of 3 and 3 steps")
}

func TestExhaustiveSearchFindsWhatThereIs(t *testing.T) {
	result, _ := exhaust(t, lostUpdate, 0)
	require.Zero(t, result.Failed, "the plain schedule is right")
	result, _ = exhaust(t, lostUpdate, 1)
	require.Positive(t, result.Failed, "one switch is enough")
	result, _ = exhaust(t, missedFlag, 1)
	require.Zero(t, result.Failed, "one switch is not enough")
	result, _ = exhaust(t, missedFlag, 2)
	require.Positive(t, result.Failed)
}

// two goroutines send three times each on one channel: there are 20 orders.
func two() bool {
	c := make(chan int, 100)
	toyTogether(toySend(c, 3), toySend(c, 3))
	return false
}

// pct runs plans of that depth and returns the share of those that found the bug.
func pct(t *testing.T, program toy, depth, runs int) (share float64, steps uint64) {
	run := toyRunner(t, program)
	result := searched(t, EndedRuns, NewPriorities(1, depth), func(ctx context.Context, a []Attempt) ([]Outcome, error) {
		outcomes, err := run(ctx, a)
		for _, outcome := range outcomes {
			steps = max(steps, outcome.Explored.Steps)
		}
		return outcomes, err
	}, Limits{Runs: runs})
	return float64(result.Failed) / float64(runs), steps
}

func TestPrioritiesFindBugsWithTheProbabilityThatIsPromised(t *testing.T) {
	const threads, runs = 3, 600 // the third is the one that waits for the others
	for _, row := range []struct {
		name    string
		program toy
		depth   int
	}{{"a lost update", lostUpdate, 2}, {"a missed flag", missedFlag, 3}} {
		t.Run(row.name, func(t *testing.T) {
			share, _ := pct(t, row.program, row.depth-1, runs)
			require.Zero(t, share, "a bug of depth %d needs %d changes", row.depth, row.depth-1)
			share, steps := pct(t, row.program, row.depth, runs)
			promised := 1.0 / threads
			for range row.depth - 1 {
				promised /= float64(steps)
			}
			t.Logf("found in %.3f of the runs of %d steps, promised %.4f", share, steps, promised)
			require.GreaterOrEqual(t, share, promised)
		})
	}
}

func TestBeingHeldUpIsTriedToo(t *testing.T) {
	const hold = 50 * time.Millisecond
	late := func() bool {
		c := make(chan int, 1)
		start := time.Now()
		toyTogether(toySend(c, 1))
		return time.Since(start) >= hold
	}
	result, _ := exhaust(t, late, unbounded)
	require.Equal(t, 1, result.Runs)
	result, _ = exhaust(t, late, unbounded, hold, 2*hold)
	require.Equal(t, 3, result.Runs)
	require.Equal(t, 2, result.Failed)
}

func TestASearchSaysWhichLimitItHit(t *testing.T) {
	result := searched(t, EndedRuns, NewExhaustive(1, unbounded), toyRunner(t, two), Limits{Runs: 19})
	require.Equal(t, 19, result.Runs, "one order is missing")
	result = searched(t, EndedItself, NewExhaustive(1, unbounded), toyRunner(t, two), Limits{Runs: 20})
	require.NotEmpty(t, result.Exhausted, "the limit was not in the way")
	result = searched(t, EndedFailures, NewExhaustive(1, 3), toyRunner(t, lostUpdate), Limits{Failures: 1})
	require.Equal(t, result.Runs-1, result.FirstFailure)
	searched(t, EndedBudget, NewRandom(1), toyRunner(t, two), Limits{Budget: time.Millisecond})
}

func TestARunnerThatFailsEndsTheSearch(t *testing.T) {
	broken := errors.New("no disk")
	calls := 0
	result, err := Search(context.Background(), NewRandom(1), oneByOne(func(context.Context, Attempt) (Outcome, error) {
		if calls++; calls > 3 {
			return Outcome{}, broken
		}
		return Outcome{}, nil
	}), Limits{}, nil)
	require.ErrorIs(t, err, broken)
	require.Equal(t, 3, result.Runs)
	require.Empty(t, result.Exhausted)
}

// invented searches a default run, and two that deviate from it once.
func invented(t *testing.T, plain, deviated Outcome) (Result, *Exhaustive) {
	t.Helper()
	strategy := NewExhaustive(1, 1)
	result := searched(t, EndedItself, strategy, oneByOne(func(_ context.Context, a Attempt) (Outcome, error) {
		if len(a.Deviations) > 0 {
			return deviated, nil
		}
		return plain, nil
	}), Limits{})
	require.Equal(t, 3, result.Runs)
	return result, strategy
}

// TestContradictionsAreNotExhaustion has runs that a hash of their state does not distinguish.
func TestContradictionsAreNotExhaustion(t *testing.T) {
	choice := sim.Choice{Kind: sim.KindPoint, Alternatives: 2, State: 7}
	later := sim.Choice{Kind: sim.KindPick, Alternatives: 2, State: 8}
	plain := Outcome{History: 1, Explored: sim.Explored{Choices: []sim.Choice{choice, later}, State: 9}}
	result, _ := invented(t, plain, plain)
	require.Equal(t, "every schedule there is", result.Exhausted)

	elsewhere := plain
	elsewhere.Explored.State = 10
	result, strategy := invented(t, plain, elsewhere)
	require.Positive(t, strategy.Strays, "state 8 led to 9 once, and to 10")
	require.Equal(t, Stray{Run: 1, Before: 0, Decision: 1}, strategy.FirstStray)
	require.Empty(t, result.Exhausted)

	lost := plain
	lost.Explored.Choices = []sim.Choice{{Kind: sim.KindPoint, Alternatives: 2, State: 6}, later}
	result, strategy = invented(t, plain, lost)
	require.Equal(t, 1, strategy.Lost, "the first decision was not met again")
	require.Empty(t, result.Exhausted)

	otherwise := plain
	otherwise.History = 2
	result, strategy = invented(t, plain, otherwise)
	require.Zero(t, strategy.Strays)
	require.Positive(t, result.Contradictions)
	require.Empty(t, result.Exhausted)
}

func TestRandomRunsAreOnlyObserved(t *testing.T) {
	config := sim.Config{Source: sim.FromSeed(7), Schedule: sim.DefaultSchedule}
	plain := isolate.Run(t, config, func(testing.TB, *sim.World) { two() })
	config.Explore = &sim.Explore{Observe: true}
	observed := isolate.Run(t, config, func(_ testing.TB, w *sim.World) {
		w.OpenWindow()
		two()
	})
	require.Equal(t, plain.Hash, observed.Hash)
	require.NotZero(t, observed.Explored.Shape)

	result := searched(t, EndedRuns, NewRandom(1), toyRunner(t, two), Limits{Runs: 2000})
	require.Greater(t, result.Shapes(), 1)
	require.LessOrEqual(t, result.Shapes(), 20)
	require.True(t, result.Flat(), result.Curve())
}
