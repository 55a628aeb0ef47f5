package scenario

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/sim"
)

// Branch is a point at which a run continues under another seed or plan. The template,
// the seed and the list of branches determine a branched run completely.
type Branch struct {
	// At is a decision of the run, or a time since its start.
	At sim.Mark `json:"at"`
	// Seed draws the schedule from there on.
	Seed uint64 `json:"seed"`
	// Redraw also redraws the clients' requests from the seed.
	Redraw bool `json:"redraw,omitempty"`
	// Plan is the text of a plan that replaces the faults that have not begun; empty
	// keeps them.
	Plan string `json:"plan,omitempty"`
}

// Redrawn returns a branch from which everything is drawn from another seed: the
// schedule, the clients' requests and, unless the spec has a plan of its own, the
// faults.
func (s Spec) Redrawn(at time.Duration, seed uint64) (Branch, error) {
	branch := Branch{At: sim.Mark{Instant: at}, Seed: seed, Redraw: true}
	if s.Plan != "" {
		return branch, nil
	}
	s.Seed = seed
	plan, err := s.plan()
	branch.Plan = slices.DeleteFunc(plan, func(f faults.Fault) bool { return f.At < at }).String()
	return branch, err
}

// Branch continues a paused run as the branch says. If taped, the decisions that follow
// come from the tape, so that only the requests and the plan change.
func (r *Run) Branch(world *sim.World, branch Branch, taped bool) {
	if !taped {
		world.Follow(sim.FromSchedule(r.Spec.Seed, branch.Seed))
	}
	if branch.Redraw && r.clients != nil {
		r.clients.Redraw(func(name string) *rand.Rand { return sim.Stream(branch.Seed, name) })
	}
	if branch.Plan != "" && r.engine != nil {
		plan, err := faults.Parse(branch.Plan)
		r.problem(err)
		r.planned += r.engine.Replan(plan)
	}
}

// Look returns the states of the servers of a paused run, coarse enough for different
// runs to share states. There are none before the clients start.
func (r *Run) Look(world *sim.World) (states []string) {
	if r.clients == nil {
		return nil
	}
	newest, waiting := r.clients.UnderWay()
	for _, phase := range r.cluster.Phases(world.Progress().Now, newest) {
		underWay := waiting[phase.Server]
		phase.Server = "" // all servers are equivalent
		states = append(states, fmt.Sprint(phase, underWay))
	}
	return states
}

// String formats the branch as --branch accepts it.
func (b Branch) String() string {
	place, redraw := b.At.Instant.String(), ""
	if b.At.Decision > 0 {
		place = fmt.Sprintf("decision=%d", b.At.Decision)
	}
	if b.Redraw {
		redraw = ",redraw"
	}
	return fmt.Sprintf("%s,seed=%d%s", place, b.Seed, redraw)
}

// checkBranches returns an error for the first branch that cannot follow the one before
// it. The order of a decision and a time is only known during the run.
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

// pause makes the world pause at the branches of the run and then at the marks of the
// options, in order.
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
		if at == (sim.Mark{}) { // before the first decision: the world is there already
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

// mark returns the run's pause with that number and what to do there; do is nil if
// there are no more.
func (r *Run) mark(world *sim.World, options Options, number int) (at sim.Mark, do func()) {
	branches := r.Spec.Branches
	if number < len(branches) {
		return branches[number].At, func() { r.Branch(world, branches[number], options.Tape != nil) }
	}
	if options.Mark == nil {
		return at, nil
	}
	number -= len(branches)
	at, any := options.Mark(world, number)
	if any {
		do = func() { options.AtMark(world, r, number) }
	}
	return at, do
}
