package scenario

import (
	"strings"
	"time"

	"github.com/watchsim/watchsim/sim"
)

// Exploration is how a search steers a run.
type Exploration struct {
	sim.Explore
	// From and To bound the window in which there is something to decide, since the
	// clients began.
	From time.Duration `json:"from"`
	To   time.Duration `json:"to"`
	// Priorities has a plan of priorities decide what no tape does.
	Priorities *sim.Priorities `json:"priorities,omitempty"`
}

// CodeOf is where the code of a target's cache is: what the names of its functions
// begin with, and what a search decides about unless it is told otherwise.
func CodeOf(target string) string {
	if strings.HasPrefix(target, "kubernetes") { // or a release of it
		return "k8s.io/apiserver/pkg/storage/cacher"
	}
	return "github.com/watchsim/watchsim/cacher"
}

// SearchedWhole is how a search steers the whole of a run, up to when its faults have
// healed.
func (s Spec) SearchedWhole() *Exploration {
	e := &Exploration{To: s.Duration - s.QuietPhase()}
	e.Scope = CodeOf(s.Target)
	e.Delays = []time.Duration{5 * time.Millisecond, 300 * time.Millisecond}
	return e
}

// steering is what the world is to know of it.
func (e *Exploration) steering() *sim.Explore {
	if e == nil {
		return nil
	}
	return &e.Explore
}

// watch opens and closes the window in time. A goroutine is held up for seconds at
// most, and none of its delays may outlast the faults; so the window closes by then.
// closed is called in a pause when it closes, if it is not nil.
func (e *Exploration) watch(world *sim.World, began time.Time, closed func()) {
	if e == nil {
		return
	}
	go func() {
		time.Sleep(time.Until(began.Add(e.From)))
		world.OpenWindow()
		time.Sleep(time.Until(began.Add(e.To)))
		world.CloseWindow()
		if closed != nil {
			world.Pause(closed)
		}
	}()
}

// steered reports whether a search decides, and not the seed.
func (s Spec) steered() bool { return s.Explore != nil && !s.Explore.Observe }

// source is where the decisions of the run come from.
func (s Spec) source(tape []byte) sim.Source {
	switch {
	case s.steered() && tape == nil && s.Explore.Priorities != nil:
		return sim.FromPriorities(s.Seed, *s.Explore.Priorities, len(s.Explore.Delays))
	case !s.steered() && s.Reduced != nil && s.ScheduleSeed != 0 && len(tape) == 0:
		return sim.FromSchedule(s.Seed, s.ScheduleSeed)
	case s.steered(), s.Reduced != nil:
		return sim.FromOpenTape(s.Seed, tape)
	case tape != nil:
		return sim.FromTape(s.Seed, tape)
	default:
		return sim.FromSeed(s.Seed)
	}
}
