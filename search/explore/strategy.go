package explore

import (
	"time"

	"github.com/watchsim/watchsim/sim"
)

// Attempt is a run that a strategy requests.
type Attempt struct {
	// Number counts the attempts of a search, from 0.
	Number int
	// Seed is the source of everything random in the run.
	Seed uint64
	// Observe leaves all decisions to the seed, as in any run.
	Observe bool
	// Priorities leaves the decisions to a plan of priorities, drawn from the seed.
	Priorities *sim.Priorities
	// Deviations are the run's deviations from the default decisions, in order. Only an attempt
	// with neither of the two above has any.
	Deviations []Deviation

	// Branches are where a run that follows its seed continues with other seeds, in order, and
	// Looks is the interval between looks after the last of them; 0 for none.
	Branches []Branch
	Looks    time.Duration

	// Whole makes the run be judged even if it ends its window like an earlier one.
	Whole bool

	// expected is the state in which the last deviation was planned; 0 if unknown.
	expected uint64
}

// Deviation is a decision other than the default one.
type Deviation struct {
	// Decision counts the decisions of a run, from 0.
	Decision int `json:"decision"`
	// Chosen is the alternative, from 1.
	Chosen uint32 `json:"chosen"`
}

// Tape returns the open tape with the deviations and the default decisions before them.
func (a Attempt) Tape() []byte {
	tape := []byte{}
	next := 0 // the decision at the end of the tape
	for _, d := range a.Deviations {
		for ; next < d.Decision; next++ {
			tape = append(tape, 0)
		}
		tape = sim.AppendChoice(tape, d.Chosen)
		next++
	}
	return tape
}

// Strategy chooses the schedules to try. Its methods are called from one goroutine.
type Strategy interface {
	// Next returns attempts that differ only in their last deviation or branch, so that what they
	// share is run once, and none if there are none for now. There may be some again after the
	// outcome of a pending attempt was learned.
	Next() []Attempt

	// Learn learns the outcome of an attempt. Attempts are learned in the order in which Next
	// returned them, whichever ends first.
	Learn(attempt Attempt, outcome Outcome)

	// Exhausted says what was tried completely; it is empty if nothing was. It is called when Next
	// has nothing left and every attempt has been learned.
	Exhausted() string
}

// random is the random walk with stalls that a seed alone makes: one seed after the other, without
// end.
type random struct{ next uint64 }

// NewRandom returns the strategy that leaves everything to seeds, from first on.
func NewRandom(first uint64) Strategy { return &random{next: first} }

func (r *random) Next() []Attempt {
	r.next++
	return []Attempt{{Seed: r.next - 1, Observe: true}}
}

func (*random) Learn(Attempt, Outcome) {}

func (*random) Exhausted() string { return "" }

// priorities draws a plan of priorities for each seed. A plan depends on the length of a run, so
// the first attempt is a default run that measures it.
type priorities struct {
	seed, next uint64
	plan       sim.Priorities
	asked      bool
}

// NewPriorities returns the strategy of [sim.Priorities] with a depth, for seeds from first on.
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

// Learn takes the length from the first run only: attempts must not depend on how many others are
// in progress.
func (p *priorities) Learn(_ Attempt, outcome Outcome) {
	if p.plan.Steps == 0 {
		p.plan.Steps = max(1, outcome.Explored.Steps)
	}
}

func (*priorities) Exhausted() string { return "" }
