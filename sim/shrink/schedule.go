package shrink

import (
	"math/rand/v2"
	"slices"

	"github.com/watchsim/watchsim/sim"
)

// takesTurns is whether the schedule of a case forces nothing.
func (c Case) takesTurns() bool {
	return *c.Spec.Schedule == sim.Schedule{} && len(c.Tape) == 0
}

// shuffles is how many tapes are tried with a schedule that does not interrupt.
const shuffles = 6

// shuffledBytes is how many choices such a tape holds.
const shuffledBytes = 64 << 10

// schedule looks for a kinder schedule: turns, and then one in which the order is
// random but nobody is interrupted.
// It returns whether it has found one.
func (s *search) schedule() bool {
	if s.best.takesTurns() {
		return false
	}
	candidates := []Case{s.best.takingTurns()}
	if *s.best.Spec.Schedule != (sim.Schedule{}) {
		for i := range shuffles {
			c := s.best.takingTurns()
			c.Tape = shuffled(sim.Stream(c.Spec.Seed+uint64(i), "shrink"))
			candidates = append(candidates, c)
		}
	}
	return s.first("interruptions", candidates) >= 0
}

// othersTried is how many other schedules are tried for a run that passes when its
// clients follow the clock instead of each other.
const othersTried = 40

// others looks for another schedule, as unkind as that of the whole run, with which
// the run fails: taken apart, it takes other decisions than the whole one did, so
// that its tape tells of another run.
func (s *search) others() bool {
	candidates := make([]Case, othersTried)
	for i := range candidates {
		candidates[i] = s.best
		candidates[i].Tape = shuffled(sim.Stream(s.best.Spec.Seed+uint64(i), "shrink others"))
	}
	if s.first("the tape", candidates) < 0 {
		return false
	}
	s.recordTape()
	return true
}

func shuffled(random *rand.Rand) []byte {
	tape := make([]byte, shuffledBytes)
	for i := range tape {
		tape[i] = byte(random.IntN(255))
	}
	return tape
}

// tape replaces choices of the tape by plain ones.
func (s *search) tape() {
	if len(s.best.Tape) == 0 {
		return
	}
	s.recordTape()
	var chosen []int // the indices of choices that are not plain
	for i, b := range s.best.Tape {
		if b != 0 {
			chosen = append(chosen, i)
		}
	}
	tape := s.best.Tape
	leaveOut(s, "choices of the schedule", chosen, func(c Case, kept []int) Case {
		c.Tape = make([]byte, len(tape))
		for _, i := range kept {
			c.Tape[i] = tape[i]
		}
		c.Tape = sim.Trimmed(c.Tape)
		return c
	})
}

// calmPieces is into how many pieces the choices are cut when a schedule is calmed.
const calmPieces = 32

// calm replaces large pieces of the tape by plain choices before anything else is
// left out: the fewer choices there are, the less does a change of the clients make
// another run of it. What comes after the failure goes first.
func (s *search) calm() {
	var chosen []int
	for i, b := range s.best.Tape {
		if b != 0 {
			chosen = append(chosen, i)
		}
	}
	if len(chosen) < 2*calmPieces {
		return
	}
	whole := s.best.Tape
	pieces := slices.Collect(slices.Chunk(chosen, (len(chosen)+calmPieces-1)/calmPieces))
	keeping := func(c Case, kept [][]int) Case {
		c.Tape = make([]byte, len(whole))
		for _, piece := range kept {
			for _, i := range piece {
				c.Tape[i] = whole[i]
			}
		}
		c.Tape = sim.Trimmed(c.Tape)
		return c
	}
	var beginnings []Case
	for n := range pieces {
		beginnings = append(beginnings, keeping(s.best, pieces[:n]))
	}
	if n := s.first("the end of the schedule", beginnings); n >= 0 {
		pieces = pieces[:n]
	}
	leaveOut(s, "pieces of the schedule", pieces, keeping)
	s.recordTape()
}

// recordTape replaces the tape by the choices that were made with it.
func (s *search) recordTape() {
	outcome, err := s.Try(s.ctx, s.best, true)
	if s.note(err); err != nil || !outcome.Broken {
		return
	}
	s.best.Tape = sim.Trimmed(outcome.Details.Tape)
}
