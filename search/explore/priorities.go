package explore

import "github.com/watchsim/watchsim/sim"

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
