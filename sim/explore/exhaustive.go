package explore

import (
	"fmt"

	"github.com/watchsim/watchsim/sim"
)

// Exhaustive tries every schedule that departs from the plain one at most Bound
// times: first the plain one, then those that depart from it once, and so on. It
// is delay-bounded scheduling (Emmi, Qadeer and Rakamarić, "Delay-Bounded
// Scheduling") in which each deviation costs 1, whichever alternative it takes.
//
// A deviation from a state is tried once, however many schedules lead to the
// state. As the cheapest come first, nothing within the bound is lost by that.
type Exhaustive struct {
	// FromKnown has deviations tried from every state, however often it was reached.
	// Then nothing is taken on trust of what a state is made of.
	FromKnown bool

	seed  uint64
	bound int
	queue [][]Deviation
	// seen are the deviations that were put into the queue, by the state that they
	// depart from. They take 8 bytes and some each.
	seen map[uint64]struct{}

	// futures are where runs without further deviations ended, by a state on their way.
	futures map[uint64]uint64

	// Duplicates counts the deviations that were not tried because the same was done
	// from the same state; Beyond those that were left out for the bound; Cut the runs
	// in which not every decision is known; Strays those that came through a known state
	// and ended in another than the run before: then states do not tell everything, and
	// a deviation may have been taken for a duplicate that was none.
	Duplicates, Beyond, Cut, Strays int
}

// NewExhaustive returns the strategy for one seed and a bound.
func NewExhaustive(seed uint64, bound int) *Exhaustive {
	return &Exhaustive{seed: seed, bound: bound, queue: [][]Deviation{nil}, seen: map[uint64]struct{}{}, futures: map[uint64]uint64{}}
}

// Next implements Strategy.
func (e *Exhaustive) Next() (Attempt, bool) {
	if len(e.queue) == 0 {
		return Attempt{}, false
	}
	next := e.queue[0]
	e.queue = e.queue[1:]
	return Attempt{Seed: e.seed, Deviations: next}, true
}

// Learn puts everything into the queue that departs from a run behind its last
// deviation: what departs earlier does so from a cheaper run.
func (e *Exhaustive) Learn(attempt Attempt, ran sim.Explored) {
	first := 0
	if n := len(attempt.Deviations); n > 0 {
		first = attempt.Deviations[n-1].Decision + 1
	}
	if ran.Truncated || len(ran.Choices) < first {
		e.Cut++
	}
	stray := false
	for i := first; i < len(ran.Choices); i++ {
		choice := ran.Choices[i]
		state := keyOf(choice, 0)
		end, known := e.futures[state]
		stray = stray || known && end != ran.State
		e.futures[state] = ran.State
		for k := uint32(1); k < choice.Alternatives; k++ {
			if !e.FromKnown && !e.isNew(choice, k) {
				e.Duplicates++
				continue
			}
			if len(attempt.Deviations) == e.bound {
				e.Beyond++
				continue
			}
			deviations := make([]Deviation, 0, len(attempt.Deviations)+1)
			deviations = append(append(deviations, attempt.Deviations...), Deviation{i, k})
			e.queue = append(e.queue, deviations)
		}
	}
	if stray && !ran.Truncated {
		e.Strays++
	}
}

// keyOf is what makes a choice in a state one and the same.
func keyOf(choice sim.Choice, k uint32) uint64 {
	key := choice.State
	for _, part := range []uint64{uint64(choice.Kind), uint64(choice.Alternatives), uint64(k)} {
		key = (key ^ part) * 0x9fb21c651e98df25
		key ^= key >> 32
	}
	return key
}

// isNew reports whether nothing has departed like this from the state before.
func (e *Exhaustive) isNew(choice sim.Choice, k uint32) bool {
	key := keyOf(choice, k)
	if _, known := e.seen[key]; known {
		return false
	}
	e.seen[key] = struct{}{}
	return true
}

// Exhausted implements Strategy.
func (e *Exhaustive) Exhausted() string {
	switch {
	case e.Cut > 0 || e.Strays > 0:
		return ""
	case e.Beyond == 0:
		return "every schedule there is"
	default:
		return fmt.Sprintf("every schedule with at most %d departures from the plain one", e.bound)
	}
}
