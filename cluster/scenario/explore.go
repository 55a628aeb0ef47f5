package scenario

import (
	"strings"
	"time"

	"github.com/watchsim/watchsim/sim"
)

// Exploration configures how a search steers a run.
type Exploration struct {
	sim.Explore
	// From and To bound the window in which the search makes decisions, as times since
	// the clients started.
	From time.Duration `json:"from"`
	To   time.Duration `json:"to"`
	// Priorities decides, by a plan of priorities, whatever no tape decides.
	Priorities *sim.Priorities `json:"priorities,omitempty"`
}

// CodeOf returns the prefix of the function names of a target's cache. A search decides
// about this code by default.
func CodeOf(target string) string {
	if strings.HasPrefix(target, "kubernetes") { // or a release of it
		return "k8s.io/apiserver/pkg/storage/cacher"
	}
	return "github.com/watchsim/watchsim/cacher"
}

// SearchedWhole returns the exploration that covers the whole run until its faults have
// healed.
func (s Spec) SearchedWhole() *Exploration {
	e := window(0, s.workload().Active())
	e.Scope = CodeOf(s.Target)
	return e
}

// watch opens and closes the window on time. The window closes before the faults end,
// because a goroutine may be delayed for seconds and no delay may outlast the faults.
// If closed is not nil, it is called in a pause when the window closes.
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

// steered reports whether a search, not the seed, makes the decisions.
func (s Spec) steered() bool { return s.Explore != nil && !s.Explore.Observe }

// source returns where the decisions of the run come from.
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
