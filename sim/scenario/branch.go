package scenario

import (
	"time"

	"github.com/watchsim/watchsim/sim"
)

// Branch is where the schedule of a run goes on by another seed. The list of them is a
// run's recipe: with the template and the seed it says everything about a run that
// branched.
type Branch struct {
	// At is a decision of the run, or an instant since it began.
	At sim.Mark `json:"at"`
	// Seed is that of the schedule from there on.
	Seed uint64 `json:"seed"`
}

// pause has the world pause at the branches of the run and then at the marks of the
// options, in their order.
func (r *Run) pause(world *sim.World, options Options) {
	began := world.Progress().Now
	number := 0
	var next func()
	next = func() {
		at, do := r.mark(world, options, number)
		if do == nil {
			return
		}
		number++
		if at == (sim.Mark{}) { // before the first decision, where the world is now
			do()
			next()
			return
		}
		if at.Instant > 0 {
			at.Instant += began
		}
		world.PauseAt(at, func() {
			do()
			next()
		})
	}
	next()
}

// mark is where the run pauses, by number, and what is done there; nil if it pauses no
// more.
func (r *Run) mark(world *sim.World, options Options, number int) (at sim.Mark, do func()) {
	branches := r.Spec.Branches
	if options.Tape != nil {
		branches = nil // the tape has what they led to
	}
	if number < len(branches) {
		return branches[number].At, func() { world.Follow(sim.FromSchedule(r.Spec.Seed, branches[number].Seed)) }
	}
	if options.Mark == nil {
		return at, nil
	}
	number -= len(branches)
	at, any := options.Mark(world, number)
	if any {
		do = func() { options.AtMark(world, number) }
	}
	return at, do
}

// Since is how long ago the run began whose world has come so far.
func (r *Run) Since(progress sim.Progress) time.Duration { return progress.Now - r.Began }
