package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
	"unsafe"

	"github.com/watchsim/watchsim/sim/internal/kernel"
)

// Explore lets a search steer a run. Outside of its window, which the world opens and
// closes, every choice is the default one and no decision is made. Within it, every
// synchronisation point of code in scope is a decision, and so are which goroutine in scope
// runs next and which ready case a select takes.
//
// The run's source makes the decisions. A seed alone makes the default choice each time, an
// open tape those recorded, and [FromPriorities] follows a plan.
type Explore struct {
	// Scope is the prefix of the names of functions in scope, such as a package path; empty for
	// everything. A synchronisation point belongs to its first caller outside of the packages that
	// wait.
	Scope string `json:"scope,omitempty"`
	// Delays are the lengths for which a goroutine can be delayed.
	Delays []time.Duration `json:"holds,omitempty"`
	// Observe makes the decisions those of an ordinary run of the seed: only the shape is wanted.
	Observe bool `json:"observe,omitempty"`
}

// load writes the exploration into the parameters of a run.
func (e *Explore) load(p *kernel.Params) {
	if e == nil {
		return
	}
	p.Explore = kernel.Steered
	if e.Observe {
		p.Explore = kernel.Observed
		return
	}
	p.Scope = e.Scope
	p.Holds, p.HoldsLen = unsafe.Pointer(unsafe.SliceData(e.Delays)), len(e.Delays)
}

// OpenWindow opens the window of decisions of an exploring run. It does nothing in other
// runs.
func (w *World) OpenWindow() { w.setWindow(true) }

// CloseWindow closes the window of decisions and of the run's shape.
func (w *World) CloseWindow() { w.setWindow(false) }

// Choice is a decision of an exploring run.
type Choice = kernel.Chosen

// KeyOf identifies an alternative of a choice in a state. It is never 0.
func KeyOf(choice Choice, alternative uint32) uint64 {
	key := choice.State
	for _, part := range []uint64{uint64(choice.Kind), uint64(choice.Alternatives), uint64(alternative)} {
		key = (key ^ part) * 0x9fb21c651e98df25
		key ^= key >> 32
	}
	return max(key, 1)
}

// maxChoices bounds the decisions that an exploring run can report.
const maxChoices = 4 << 20

// choicesMemory is where the kernel writes them.
var choicesMemory scratch

func newChoices() []Choice {
	memory := choicesMemory.reserve(maxChoices * int(unsafe.Sizeof(Choice{})))
	return unsafe.Slice((*Choice)(unsafe.Pointer(unsafe.SliceData(memory))), maxChoices)
}

// Explored is a search's information about a run.
type Explored struct {
	// Choices are the decisions, in order, from number First on; Truncated means that there were
	// more, or would have been had the run completed.
	Choices   []Choice
	First     int
	Truncated bool
	// Shape is the happens-before order within the window. Two schedules that differ only in the
	// order of independent events have the same shape.
	Shape uint64
	// State is the state of the run when the window closed: the shape, the time of each event, and
	// which goroutine was about to run.
	State uint64
	// Steps is the number of synchronisation points in scope in the window.
	Steps uint64
}

// Explored returns the search's information about the run so far. It may be called only in a pause.
func (w *World) Explored() *Explored {
	return w.recording.explored(kernel.Now())
}

// HeldUp reports whether a goroutine is being delayed. It may be called only in a pause.
func (w *World) HeldUp() bool {
	return slices.ContainsFunc(goroutines(), func(g kernel.Goroutine) bool { return g.Stalled })
}

// explored returns the search's information about a run, nil if the run does not explore.
func (r recording) explored(c kernel.Counters) *Explored {
	if r.choices == nil {
		return nil
	}
	return &Explored{
		Choices: r.choices[:c.Choices], Truncated: c.ChoicesFull != 0,
		Shape: c.Shape, State: c.State, Steps: c.Steps,
	}
}

// Priorities is the strategy of Burckhardt, Kothari, Musuvathi and Nagarakatte, "A Randomized
// Scheduler with Probabilistic Guarantees of Finding Bugs" (PCT): every goroutine has a random
// priority, the one with the highest runs, and at Depth-1 random points the running one falls below
// all others. A bug of that depth in a run of n goroutines and k steps is found with a probability
// of at least 1/(n*k^(Depth-1)).
//
// If the exploration has delays, the goroutine is also delayed at these points, so that
// timers and the network overtake it, too.
type Priorities struct {
	// Depth is the assumed number of ordering constraints of the bug, at least 1.
	Depth int `json:"depth"`
	// Steps is the assumed number of synchronisation points in scope.
	Steps uint64 `json:"steps"`
}

// FromPriorities returns the source that follows a plan of priorities drawn from the seed, in an
// exploring run with that many delays.
func FromPriorities(seed uint64, plan Priorities, delays int) Source {
	list := changes(Stream(seed, "priorities"), plan, delays)
	return Source{seed, seed, func(p *kernel.Params) {
		p.Changes, p.ChangesLen = unsafe.Pointer(unsafe.SliceData(list)), len(list)
	}}
}

// changes draws where priorities change, in order, and to what. The kernel takes an empty plan for
// none at all, so one of depth 1 has an entry that is never reached.
func changes(random *rand.Rand, plan Priorities, delays int) []kernel.Change {
	list := []kernel.Change{{Step: 1 << 63}}
	for _, priority := range random.Perm(max(0, plan.Depth-1)) {
		change := kernel.Change{Step: 1 + random.Uint64N(max(1, plan.Steps)), Priority: uint64(1 + priority)}
		if delays > 0 {
			change.Hold = 1 + random.Uint64N(uint64(delays))
		}
		list = append(list, change)
	}
	slices.SortFunc(list, func(a, b kernel.Change) int { return cmp.Compare(a.Step, b.Step) })
	// Two changes at one step are one: the kernel compares each with the step.
	return slices.CompactFunc(list, func(a, b kernel.Change) bool { return a.Step == b.Step })
}
