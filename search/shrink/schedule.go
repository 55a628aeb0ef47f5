package shrink

import (
	"slices"

	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/sim"
)

// A schedule that forces nothing, with goroutines taking turns, is best: it survives edits of the
// code. After it come schedules that are drawn from a seed, first in a random order without
// interruptions, and then with everything that the failing run had. Leaving something out of a run
// with such a schedule changes everything that is drawn after it. Each candidate is therefore tried
// with several.

const (
	// schedulesKind is how many schedules without interruptions are tried, and schedulesWhole how
	// many with the settings of the failing run.
	schedulesKind  = 6
	schedulesWhole = 40
	// schedulesEach is how many each candidate is tried with, if the schedule matters.
	schedulesEach = 4
)

// takesTurns reports whether the schedule of a case forces nothing.
func (c Case) takesTurns() bool {
	return *c.Spec.Schedule == sim.Schedule{} && c.Spec.ScheduleSeed == 0 && len(c.Tape) == 0
}

// takingTurns returns the case with the schedule that forces nothing.
func (c Case) takingTurns() Case {
	c.Spec.Schedule, c.Spec.ScheduleSeed, c.Tape = &sim.Schedule{}, 0, []byte{}
	return c
}

// drawn returns the case with a schedule drawn from a seed.
func (c Case) drawn(seed uint64) Case {
	c.Spec.ScheduleSeed, c.Tape = seed, []byte{}
	return c
}

// schedule looks for a simpler schedule. It returns whether it has found one.
func (s *search) schedule() bool {
	if s.best.takesTurns() {
		return false
	}
	candidates := []Case{s.best.takingTurns()}
	if *s.best.Spec.Schedule != (sim.Schedule{}) {
		for i := range schedulesKind {
			candidates = append(candidates, s.best.takingTurns().drawn(uint64(i)+1))
		}
	}
	return s.firstAsIs("interruptions", candidates) >= 0
}

// otherSchedule looks for another schedule with the settings of the failing run.
func (s *search) otherSchedule() bool {
	var candidates []Case
	for i := range schedulesWhole {
		candidates = append(candidates, s.best.drawn(uint64(i)+1))
	}
	return s.firstAsIs("the schedule that was", candidates) >= 0
}

// withSchedules returns the candidates, each with several schedules if its schedule is drawn.
func (s *search) withSchedules(candidates []Case) (all []Case, each int) {
	if s.best.Spec.ScheduleSeed == 0 {
		return candidates, 1
	}
	for _, c := range candidates {
		all = append(all, c)
		for range schedulesEach - 1 {
			s.drawn++
			all = append(all, c.drawn(s.drawn))
		}
	}
	return all, schedulesEach
}

// tape replaces deviations of the schedule by default decisions.
func (s *search) tape() {
	if s.best.takesTurns() {
		return
	}
	s.recordTape()
	s.calm()
	tape := s.best.Tape
	leaveOut(s, "choices of the schedule", chosen(tape), choicesPieces, func(c Case, kept []int) Case { return c.withChoices(tape, kept) })
}

// chosen returns the indices of a tape's deviations.
func chosen(tape []byte) (indices []int) {
	for i, b := range tape {
		if b != 0 {
			indices = append(indices, i)
		}
	}
	return indices
}

// withChoices returns the case with some deviations of a tape, and default decisions in place of the others.
func (c Case) withChoices(tape []byte, kept ...[]int) Case {
	c.Tape = make([]byte, len(tape))
	for _, piece := range kept {
		for _, i := range piece {
			c.Tape[i] = tape[i]
		}
	}
	c.Tape = sim.Trimmed(c.Tape)
	return c
}

// choicesPieces is the largest number of pieces into which the deviations are cut. If a failure
// needs one particular schedule, thousands of deviations remain whatever is tried, each with an
// effect on everything after it.
const choicesPieces = 128

// calmPieces is the number of pieces into which deviations are cut when a schedule is calmed.
const calmPieces = 32

// calm replaces large pieces of a tape by default decisions: the fewer deviations there are, the
// less a change of the clients changes the run. What comes after the failure goes first.
func (s *search) calm() {
	whole := s.best.Tape
	all := chosen(whole)
	if len(all) < 2*calmPieces {
		return
	}
	pieces := slices.Collect(slices.Chunk(all, (len(all)+calmPieces-1)/calmPieces))
	keeping := func(c Case, kept [][]int) Case { return c.withChoices(whole, kept...) }
	var beginnings []Case
	for n := range pieces {
		beginnings = append(beginnings, keeping(s.best, pieces[:n]))
	}
	if n := s.first("the end of the schedule", beginnings); n >= 0 {
		pieces = pieces[:n]
	}
	leaveOut(s, "pieces of the schedule", pieces, faults.EveryItem, keeping)
	s.recordTape()
}

// recordTape replaces the tape, or the seed of the schedule, by the decisions that were made with
// it.
func (s *search) recordTape() {
	outcomes, err := s.Try(s.ctx, []Case{s.best}, true)
	if s.note(1, err); err != nil || !outcomes[0].Broken {
		return
	}
	s.best.Tape, s.best.Spec.ScheduleSeed = sim.Trimmed(outcomes[0].Details.Tape), 0
}
