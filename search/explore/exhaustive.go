package explore

import (
	"fmt"
	"slices"

	"github.com/watchsim/watchsim/sim"
)

// Exhaustive tries every schedule that deviates from the plain one at most Bound
// times: first the plain one, then those that deviate from it once, and so on. It
// is delay-bounded scheduling (Emmi, Qadeer and Rakamarić, "Delay-Bounded
// Scheduling") in which each deviation costs 1, whichever alternative it takes.
//
// A deviation from a state is tried once, however many schedules lead to the
// state. As the cheapest come first, nothing within the bound is lost by that.
//
// A run that comes to a state as one before, or ends its window as one, has the same
// verdict, so that it may end there: see [Outcome]. One in FollowOneIn, drawn by its deviations, is judged all the
// same, to show that the verdict is.
type Exhaustive struct {
	// FromKnown has deviations tried from every state, however often it was reached.
	// Then nothing is taken on trust of what a state is made of, and it does not matter
	// whether runs stray.
	FromKnown bool

	bound int
	queue []Attempt
	// seen are the deviations that were put into the queue, by the state that they
	// deviate from. They take 8 bytes and some each.
	seen map[uint64]struct{}

	// futures are where runs without further deviations ended, by a state on their way.
	futures map[uint64]future

	// Beyond counts the deviations that were left out for the bound; Cut the runs in
	// which not every decision is known; Strays those that came through a known state and
	// ended in another than the run before: then states do not tell everything, and a
	// deviation may have been taken for one that was tried and was not.
	Beyond, Cut, Strays int
	// Lost counts the runs that did not come to where they were to deviate: decisions
	// that were the same were not the same run.
	Lost int
	// FirstStray is the first of these.
	FirstStray Stray
}

// future is where a run came to from a state.
type future struct {
	end uint64
	run int32
}

// Stray is a run that parted from another after a state that both came through.
type Stray struct {
	// Run and Before are the numbers of the two runs, Decision where the later one
	// was in the state.
	Run, Before, Decision int
}

// FollowOneIn is the share of runs that are judged whatever their end.
const FollowOneIn = 50

// groupMax bounds the attempts that are one group, so that several can be run at a time.
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

// follows reports whether two attempts differ in their last deviation alone.
func (a Attempt) follows(first Attempt) bool {
	n := len(first.Deviations)
	return n == len(a.Deviations) && (n == 0 || slices.Equal(a.Deviations[:n-1], first.Deviations[:n-1]))
}

// isWhole draws whether an attempt is judged whatever its end.
func (e *Exhaustive) isWhole(seed uint64, deviations []Deviation) bool {
	h := seed
	for _, d := range deviations {
		h = (h ^ uint64(d.Decision)<<32 ^ uint64(d.Chosen)) * 0x9fb21c651e98df25
		h ^= h >> 29
	}
	return e.FromKnown || h%FollowOneIn == 0
}

// Learn puts everything into the queue that deviates from a run behind its last
// deviation: what deviates earlier does so from a cheaper run.
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
			if !e.FromKnown && !e.isNew(choice, k) {
				continue
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

// isNew reports whether nothing has deviated like this from the state before.
func (e *Exhaustive) isNew(choice sim.Choice, k uint32) bool {
	key := sim.KeyOf(choice, k)
	if _, known := e.seen[key]; known {
		return false
	}
	e.seen[key] = struct{}{}
	return true
}

// States is how many states there were in which something was decided.
func (e *Exhaustive) States() int { return len(e.futures) }

// Exhausted implements Strategy.
func (e *Exhaustive) Exhausted() string {
	switch {
	case e.Cut > 0 || e.Lost > 0 || e.Strays > 0 && !e.FromKnown:
		return ""
	case e.Beyond == 0:
		return "every schedule there is"
	default:
		deviations := "deviations"
		if e.bound == 1 {
			deviations = "deviation"
		}
		return fmt.Sprintf("every schedule with at most %d %s from the default one", e.bound, deviations)
	}
}
