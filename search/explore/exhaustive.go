package explore

import (
	"fmt"
	"slices"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
)

// Exhaustive tries every schedule with at most Bound deviations: first the default one, then those
// with one deviation, and so on. It is delay-bounded scheduling (Emmi, Qadeer and Rakamarić,
// "Delay-Bounded Scheduling") in which each deviation costs 1, whichever alternative it takes.
//
// A deviation from a state is tried once, however many schedules lead to the state. As the cheapest
// come first, that loses nothing within the bound.
//
// A run that reaches the same state as an earlier one, or ends its window like one, has the same verdict, so it
// may end there: see [Outcome]. One in followOneIn, drawn by its deviations, is judged nevertheless, to check
// that.
type Exhaustive struct {
	// FromKnown makes deviations be tried from every state, however often it was reached. Then the
	// search does not rely on the definition of a state, nor on runs being reproducible.
	FromKnown bool

	bound int
	queue []Attempt
	// seen are the queued deviations, by the state that they deviate from. Each takes a little over
	// 8 bytes.
	seen map[uint64]struct{}

	// futures are where runs without further deviations ended, by a state on the way.
	futures map[uint64]future

	// Beyond counts the deviations left out because of the bound; Cut the runs in which not every
	// decision is known; Strays those that passed through a known state and ended in another one
	// than the earlier run: then states are incomplete, and a deviation may have been skipped
	// although it was not tried.
	Beyond, Cut, Strays int
	// Lost counts the runs that did not reach their deviation: the same decisions made another run.
	Lost int
	// FirstStray is the first of the Strays.
	FirstStray Stray
}

// future is where a run ended after a state.
type future struct {
	end uint64
	run int32
}

// Stray is a run that diverged from another after a state that both passed through.
type Stray struct {
	// Run and Before are the numbers of the two runs, and Decision is where the later one was in
	// the state.
	Run, Before, Decision int
}

// followOneIn is the share of runs that are judged however they end.
const followOneIn = 50

// groupMax bounds the attempts in a group, so that several groups can run concurrently.
const groupMax = 100

// NewExhaustive returns the strategy for one seed and a bound.
func NewExhaustive(seed uint64, bound int) *Exhaustive {
	return &Exhaustive{bound: bound, queue: []Attempt{{Seed: seed, Whole: true}}, seen: map[uint64]struct{}{}, futures: map[uint64]future{}}
}

// Next implements Strategy.
func (e *Exhaustive) Next() []Attempt {
	n := 0
	for n < len(e.queue) && n < groupMax && e.queue[n].follows(e.queue[0]) {
		n++
	}
	group := e.queue[:n:n]
	e.queue = e.queue[n:]
	return group
}

// follows reports whether two attempts differ only in their last deviation.
func (a Attempt) follows(first Attempt) bool {
	n := len(first.Deviations)
	return n == len(a.Deviations) && (n == 0 || slices.Equal(a.Deviations[:n-1], first.Deviations[:n-1]))
}

// isWhole draws whether an attempt is judged however it ends.
func (e *Exhaustive) isWhole(seed uint64, deviations []Deviation) bool {
	h := seed
	for _, d := range deviations {
		h = (h ^ uint64(d.Decision)<<32 ^ uint64(d.Chosen)) * 0x9fb21c651e98df25
		h ^= h >> 29
	}
	return e.FromKnown || h%followOneIn == 0
}

// Learn queues everything that deviates from a run after its last deviation: earlier deviations
// belong to a cheaper run.
func (e *Exhaustive) Learn(attempt Attempt, outcome Outcome) {
	ran := outcome.Explored
	first := 0
	if n := len(attempt.Deviations); n > 0 {
		first = attempt.Deviations[n-1].Decision + 1
	}
	if ran.Truncated || ran.First+len(ran.Choices) < first {
		e.Cut++
	} else if first > 0 && ran.Choices[first-1-ran.First].State != attempt.expected {
		e.Lost++
	}
	stray := -1
	var before future
	for i := first; i < ran.First+len(ran.Choices); i++ {
		choice := ran.Choices[i-ran.First]
		state := sim.KeyOf(choice, 0)
		if last, known := e.futures[state]; known && last.end != ran.State && stray < 0 {
			stray, before = i, last
		}
		e.futures[state] = future{ran.State, int32(attempt.Number)}
		for k := uint32(1); k < choice.Alternatives; k++ {
			if key := sim.KeyOf(choice, k); !e.FromKnown {
				if _, known := e.seen[key]; known {
					continue
				}
				e.seen[key] = struct{}{}
			}
			if len(attempt.Deviations) == e.bound {
				e.Beyond++
				continue
			}
			deviations := append(slices.Clip(attempt.Deviations), Deviation{i, k})
			e.queue = append(e.queue, Attempt{Seed: attempt.Seed, Deviations: deviations, Whole: e.isWhole(attempt.Seed, deviations), expected: choice.State})
		}
	}
	if stray >= 0 && !ran.Truncated {
		if e.Strays++; e.Strays == 1 {
			e.FirstStray = Stray{attempt.Number, int(before.run), stray}
		}
	}
}

// States returns how many states had a decision.
func (e *Exhaustive) States() int { return len(e.futures) }

// Exhausted implements Strategy.
func (e *Exhaustive) Exhausted() string {
	switch {
	case e.Cut > 0 || e.Lost > 0 || e.Strays > 0 && !e.FromKnown:
		return ""
	case e.Beyond == 0:
		return "every schedule there is"
	}
	return fmt.Sprintf("every schedule with at most %s from the default one", model.Plural(e.bound, "deviation"))
}
