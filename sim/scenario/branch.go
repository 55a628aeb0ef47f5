package scenario

import (
	"fmt"

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

// String is the branch as --branch takes it.
func (b Branch) String() string {
	if b.At.Decision > 0 {
		return fmt.Sprintf("decision=%d,seed=%d", b.At.Decision, b.Seed)
	}
	return fmt.Sprintf("%v,seed=%d", b.At.Instant, b.Seed)
}

// checkBranches reports the first branch that cannot be taken after the one before it.
// Which of a decision and an instant comes first only the run can tell.
func checkBranches(branches []Branch) error {
	var last sim.Mark
	for i, b := range branches {
		switch {
		case b.At.Decision > 0 && b.At.Instant != 0 || b.At.Instant < 0:
			return fmt.Errorf("%w: expected branch %d at a decision or at an instant since the run began, found %+v", ErrSpec, i+1, b.At)
		case b.At.Decision > 0 && b.At.Decision <= last.Decision || b.At.Decision == 0 && i > 0 && b.At.Instant <= last.Instant:
			return fmt.Errorf("%w: expected branches in the order of the run, found %v after those before it", ErrSpec, b)
		}
		last.Decision, last.Instant = max(last.Decision, b.At.Decision), max(last.Instant, b.At.Instant)
	}
	return nil
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
	number -= len(branches)
	if number < len(options.Marks) {
		return options.Marks[number], func() { options.AtMark(world, r, number) }
	}
	return sim.Mark{}, nil
}
