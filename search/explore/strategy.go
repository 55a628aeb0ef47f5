package explore

import (
	"time"

	"github.com/watchsim/watchsim/sim"
)

// Attempt is a run that a strategy wants to see.
type Attempt struct {
	// Number counts the attempts of a search, from 0.
	Number int
	// Seed is what everything random in the run derives from.
	Seed uint64
	// Observe has the seed alone decide, as in any run.
	Observe bool
	// Priorities has a plan of priorities decide, drawn from the seed.
	Priorities *sim.Priorities
	// Deviations are where the run deviates from the plain choices, in order. Only an
	// attempt with neither of the two above has any.
	Deviations []Deviation

	// Branches are where a run that its seed decides is drawn by other seeds, in order, and
	// Looks how often it is looked at behind the last of them; 0 for never.
	Branches []Branch
	Looks    time.Duration

	// Whole has the run judged even if it ends its window as a run before has.
	Whole bool

	// expected is the state in which the last deviation was planned; 0 if it is not known.
	expected uint64
}

// Deviation is a choice that is not the plain one.
type Deviation struct {
	// Decision counts the decisions of a run, from 0.
	Decision int `json:"decision"`
	// Chosen is the alternative, from 1.
	Chosen uint32 `json:"chosen"`
}

// Tape is the open tape that holds the deviations and plain choices before them.
func (a Attempt) Tape() []byte {
	tape := []byte{}
	next := 0 // the decision that the end of the tape is for
	for _, d := range a.Deviations {
		for ; next < d.Decision; next++ {
			tape = append(tape, 0)
		}
		tape = sim.AppendChoice(tape, d.Chosen)
		next++
	}
	return tape
}

// Strategy says which schedules to try. Its methods are called from one goroutine.
type Strategy interface {
	// Next returns attempts that differ in their last deviation or branch alone, so that what comes
	// before it need be run but once, and none if there are none for now. There may be
	// some again when the outcome of an attempt under way has been learned.
	Next() []Attempt

	// Learn takes in what an attempt was like. Attempts are learned in the order in
	// which Next returned them, whichever ends first.
	Learn(attempt Attempt, outcome Outcome)

	// Exhausted says what has been tried completely, and is empty if nothing was.
	// It is asked when Next has nothing left and every attempt has been learned.
	Exhausted() string
}

// random is the random walk with stalls that a seed alone makes: one seed after the
// other, without end.
type random struct{ next uint64 }

// NewRandom returns the strategy that leaves everything to seeds, from first on.
func NewRandom(first uint64) Strategy { return &random{next: first} }

func (r *random) Next() []Attempt {
	r.next++
	return []Attempt{{Seed: r.next - 1, Observe: true}}
}

func (*random) Learn(Attempt, Outcome) {}

func (*random) Exhausted() string { return "" }

// priorities draws a plan of priorities for each seed. A plan has to know how long a
// run is, so that the first attempt is a plain run that tells.
type priorities struct {
	seed, next uint64
	plan       sim.Priorities
	asked      bool
}

// NewPriorities returns the strategy of [sim.Priorities] with a depth, for seeds from
// first on.
func NewPriorities(first uint64, depth int) Strategy {
	return &priorities{seed: first, next: first, plan: sim.Priorities{Depth: depth}}
}

func (p *priorities) Next() []Attempt {
	if p.plan.Steps == 0 {
		if p.asked {
			return nil
		}
		p.asked = true
		return []Attempt{{Seed: p.seed}}
	}
	plan := p.plan
	p.next++
	return []Attempt{{Seed: p.next - 1, Priorities: &plan}}
}

// Learn takes the length from the first run alone: what an attempt is must not
// depend on how many others are under way.
func (p *priorities) Learn(_ Attempt, outcome Outcome) {
	if p.plan.Steps == 0 {
		p.plan.Steps = max(1, outcome.Explored.Steps)
	}
}

func (*priorities) Exhausted() string { return "" }
