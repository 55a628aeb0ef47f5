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
	// All has everything that is drawn from there on follow the seed, and not the schedule
	// alone: how unkind it is, what clients ask for, what the network takes, and what the
	// code draws.
	All bool `json:"all,omitempty"`
	// Working is how much longer clients make requests and faults happen, 0 for as long
	// as without the branch.
	Working time.Duration `json:"working,omitempty"`
}

// pause has the world pause at the branches of the run and then at the marks of the
// options, in their order.
func (r *Run) pause(world *sim.World, options Options) {
	r.origin = world.Progress().Now
	number := 0
	var next func()
	next = func() {
		at, do := r.mark(world, options, number)
		if do == nil {
			return
		}
		number++
		if at.Instant > 0 {
			at.Instant += r.origin
		}
		world.PauseAt(at, func() {
			r.pausedAt = at.Instant
			do()
			next()
		})
	}
	next()
}

// mark is where the run pauses, by number, and what is done there; nil if it pauses no
// more.
func (r *Run) mark(world *sim.World, options Options, number int) (at sim.Mark, do func()) {
	if number < len(r.Spec.Branches)-r.branched {
		branch := r.Spec.Branches[number]
		return branch.At, func() { r.branch(world, branch, options.Tape != nil) }
	}
	number -= len(r.Spec.Branches) - r.branched
	if number < len(options.Marks) {
		return options.Marks[number], func() { options.AtMark(world, r, number) }
	}
	return sim.Mark{}, nil
}

// Branch has the run go on by another seed from here on, where it pauses, and returns
// the branch that does the same in a run of its own.
func (r *Run) Branch(world *sim.World, branch Branch) Branch {
	branch = r.Here(branch)
	r.Spec.Branches = append(r.Spec.Branches[:len(r.Spec.Branches):len(r.Spec.Branches)], branch)
	r.branched++
	r.branch(world, branch, false)
	return branch
}

// Here is a branch where the run pauses at an instant.
func (r *Run) Here(branch Branch) Branch {
	branch.At = sim.Mark{Instant: r.pausedAt - r.origin}
	return branch
}

// branch has the run go on by another seed. A tape has the decisions that follow already,
// and nothing else that is drawn.
func (r *Run) branch(world *sim.World, branch Branch, taped bool) {
	if branch.All {
		spec := r.Spec
		spec.Seed = branch.Seed
		world.Redraw(branch.Seed, spec.schedule())
	} else if !taped {
		world.Follow(sim.FromSchedule(r.Spec.Seed, branch.Seed))
	}
	if branch.Working > 0 {
		r.working = world.Progress().Now + branch.Working
	}
}

// Since is how long ago the run began whose world has come so far.
func (r *Run) Since(progress sim.Progress) time.Duration { return progress.Now - r.Began }
