package scenario

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/sim"
)

// Branch is where a run goes on in another way. The list of them is a run's recipe: with
// the template and the seed it says everything about a run that branched.
type Branch struct {
	// At is a decision of the run, or an instant since it began.
	At sim.Mark `json:"at"`
	// Seed is that of the schedule from there on.
	Seed uint64 `json:"seed"`
	// Redraw has clients draw what they ask for from there on by the seed, too.
	Redraw bool `json:"redraw,omitempty"`
	// Plan is the text of a plan that takes the place of the faults that have not begun;
	// empty for these.
	Plan string `json:"plan,omitempty"`
}

// Redrawn is a branch at an instant from which everything is drawn by another seed: the
// schedule, what clients ask for, and the faults, unless the spec has a plan of its own.
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

// Branch has the run go on from where it pauses as a branch says. A tape has the decisions
// that follow, and nothing else.
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

// Look tells what states the servers of a run are in that pauses, so coarsely that runs
// come to the same. There are none before the clients have begun.
func (r *Run) Look(world *sim.World) (states []string) {
	if r.clients == nil {
		return nil
	}
	newest, waiting := r.clients.UnderWay()
	for _, phase := range r.cluster.Phases(world.Progress().Now, newest) {
		underWay := waiting[phase.Server]
		phase.Server = "" // one is like another
		states = append(states, fmt.Sprint(phase, underWay))
	}
	return states
}

// String is the branch as --branch takes it.
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
