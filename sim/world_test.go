package sim_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	mathrand "math/rand"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
)

// jumble does a little of everything whose outcome an ordinary Go program leaves to chance, and
// returns a transcript.
func jumble(w *sim.World) string {
	var mu sync.Mutex
	var transcript []string
	say := func(format string, arguments ...any) {
		mu.Lock()
		defer mu.Unlock()
		transcript = append(transcript, fmt.Sprintf(format, arguments...))
	}
	var group sync.WaitGroup
	shared := make(chan int)
	pointers := map[*int]int{}
	for i := range 20 {
		group.Go(func() {
			mu.Lock()
			pointers[new(int)] = i
			mu.Unlock()
			select {
			case shared <- i:
				say("%d sent", i)
			case v := <-shared:
				say("%d received %d", i, v)
			case <-time.After(time.Duration(mathrand.Intn(100)) * time.Millisecond):
				say("%d timed out at %v", i, w.Now())
			}
		})
	}
	group.Wait()
	anything := map[any]int{}
	for p, i := range pointers {
		say("pointer %d", i)
		anything[p], anything[i], anything[fmt.Sprint(i)] = i, i, i
	}
	for _, i := range anything {
		say("any %d", i)
	}
	var secret [4]byte
	_, _ = rand.Read(secret[:])
	say("secret %x", secret)
	w.Settle()
	return fmt.Sprint(transcript)
}

func run(t testing.TB, source sim.Source, record bool) (*sim.Result, string) {
	transcript, result := isolate.Value(t, sim.Config{Source: source, Schedule: sim.DefaultSchedule, Record: record}, jumble)
	require.Zero(t, result.Uncontrolled)
	return result, transcript
}

func TestOneSeedIsOneRun(t *testing.T) {
	const seeds = 200
	var results [seeds]*sim.Result
	var said [seeds]string
	hashes := map[uint64]bool{}
	for seed := range seeds {
		results[seed], said[seed] = run(t, sim.FromSeed(uint64(seed)), false)
		hashes[results[seed].Hash] = true
	}
	require.Len(t, hashes, seeds, "different seeds are different runs")
	// Neither the order of runs nor memory addresses must matter: go back, leave garbage of some size
	// behind, and let the collector place later objects elsewhere.
	for seed := seeds - 1; seed >= 0; seed-- {
		garbage := make([][]byte, seed)
		for i := range garbage {
			garbage[i] = make([]byte, 100+i*(seed%7))
		}
		runtime.GC()
		again, saidAgain := run(t, sim.FromSeed(uint64(seed)), false)
		require.Equal(t, said[seed], saidAgain, "seed %d", seed)
		require.Equal(t, results[seed].Hash, again.Hash, "seed %d", seed)
		require.Equal(t, results[seed].Simulated, again.Simulated)
	}
}

var initialised = time.Now()

// Packages seed random numbers with the time of their initialisation: that is one instant.
func TestPackagesAreInitialisedAtOneInstant(t *testing.T) {
	require.Equal(t, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(), initialised.UnixNano())
	require.Less(t, time.Since(initialised), time.Hour)
	require.Greater(t, time.Now().Year(), 2020, "outside of a simulation, the clock is the real one")
}

func TestTapeReplays(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		number := rapid.Uint64().Draw(r, "seed")
		recorded, said := run(t, sim.FromSeed(number), true)
		require.NotEmpty(t, recorded.Tape)
		replayed, saidAgain := run(t, sim.FromTape(number, recorded.Tape), true)
		require.False(t, replayed.Diverged)
		require.Equal(t, recorded.Hash, replayed.Hash)
		require.Equal(t, recorded.Tape, replayed.Tape)
		require.Equal(t, said, saidAgain)
	})
}

func TestAScheduleCanBeThatOfAnotherSeed(t *testing.T) {
	own, _ := run(t, sim.FromSeed(1), false)
	same, _ := run(t, sim.FromSchedule(1, 1), false)
	require.Equal(t, own.Hash, same.Hash)
	other, _ := run(t, sim.FromSchedule(1, 2), true)
	again, _ := run(t, sim.FromSchedule(1, 2), false)
	require.NotEqual(t, own.Hash, other.Hash)
	require.Equal(t, other.Hash, again.Hash)
	replayed, _ := run(t, sim.FromTape(1, other.Tape), false)
	require.Equal(t, other.Hash, replayed.Hash, "all but the schedule is the seed's")
}

func TestTapeThatDoesNotFitIsNoticed(t *testing.T) {
	recorded, _ := run(t, sim.FromSeed(1), true)
	short, _ := run(t, sim.FromTape(1, recorded.Tape[:len(recorded.Tape)/2]), false)
	require.True(t, short.Diverged)

	foreign, _ := run(t, sim.FromTape(1, append([]byte{254, 254, 254}, recorded.Tape...)), false)
	require.True(t, foreign.Diverged)
}

// traceOf returns a jumble's trace in its file format, with the run's tape.
func traceOf(t testing.TB, source sim.Source) (trace, tape []byte) {
	type both struct{ Trace, Tape []byte }
	made := isolate.Answer(t, func(t testing.TB) both {
		var file bytes.Buffer
		config := sim.Config{Source: source, Schedule: sim.DefaultSchedule, Record: true, Trace: true}
		result := isolate.InPlace(t, config, func(w *sim.World) { jumble(w) })
		require.NoError(t, result.Trace.Write(&file))
		return both{file.Bytes(), result.Tape}
	})
	return made.Trace, made.Tape
}

func TestTracesTellWhereTwoRunsPart(t *testing.T) {
	first, tape := traceOf(t, sim.FromSeed(1))
	again, _ := traceOf(t, sim.FromSeed(1))

	const changed = 40
	tape[changed]++
	second, _ := traceOf(t, sim.FromTape(1, tape))

	found, differ, err := sim.FirstDifference(bytes.NewReader(first), bytes.NewReader(second))
	require.NoError(t, err)
	require.True(t, differ)
	require.EqualValues(t, changed+1, found.Decision, "decisions count from 1")
	require.NotEqual(t, found.A[0], found.B[0])
	require.Regexp(t, `(pick|select): \d+ of \d+`, found.A[0])

	_, differ, err = sim.FirstDifference(bytes.NewReader(first), bytes.NewReader(again))
	require.NoError(t, err)
	require.False(t, differ)

	_, _, err = sim.FirstDifference(bytes.NewReader(first), bytes.NewReader(first[:len(first)-1]))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestBreakpointShowsStacks(t *testing.T) {
	result := isolate.Try(t, sim.Config{Source: sim.FromSeed(1), Schedule: sim.DefaultSchedule, BreakAt: 30},
		func(_ testing.TB, w *sim.World) { jumble(w) })
	require.Equal(t, sim.Breakpoint, result.Stop)
	require.InDelta(t, 30, result.Decisions, 3, "the run ends when the scheduler is next asked")
	require.Contains(t, result.Stacks, "sim_test.jumble")
}

// Computing takes no simulated time, but on Linux no measured duration is 0, and a ticker that
// nobody reads must not consume a run.
func TestATickerIsResetToWhatWasMeasured(t *testing.T) {
	passed, _ := isolate.Value(t, sim.Config{Source: sim.FromSeed(1)}, func(*sim.World) time.Duration {
		began := time.Now()
		ticker := time.NewTicker(time.Hour)
		defer ticker.Stop()
		ticker.Reset(time.Since(began))
		<-ticker.C
		passed := time.Since(began)
		time.Sleep(time.Minute)
		return passed
	})
	require.Equal(t, time.Nanosecond, passed)
}

func TestStallLetsATimerOvertake(t *testing.T) {
	overtaken := func(schedule sim.Schedule) (count int) {
		for seed := range uint64(300) {
			late, _ := isolate.Value(t, sim.Config{Source: sim.FromSeed(seed), Schedule: schedule}, func(w *sim.World) bool {
				fired := make(chan struct{})
				done := make(chan bool, 1)
				time.AfterFunc(time.Second, func() { close(fired) })
				go func() {
					var mu sync.Mutex
					mu.Lock() // a stall may happen here
					defer mu.Unlock()
					select {
					case <-fired:
						done <- true
					default:
						done <- false
					}
				}()
				defer w.Settle()
				return <-done
			})
			if late {
				count++
			}
		}
		return count
	}
	without := sim.Schedule{YieldEvery: 2}
	with := sim.Schedule{YieldEvery: 2, StallOneIn: 4, StallMin: time.Millisecond, StallMax: 3 * time.Second}
	require.Zero(t, overtaken(without), "the clock moves only when everything waits")
	require.NotZero(t, overtaken(with))
}
