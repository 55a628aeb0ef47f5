package shrink

import (
	"cmp"
	"slices"
	"time"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/cluster/workload"
	"github.com/watchsim/watchsim/faults"
)

// Case is a run that can be made smaller.
type Case struct {
	Spec scenario.Spec
	// Tape is followed as far as it goes. A reduced run then takes the default decisions; a whole
	// one without a tape leaves them to its seed.
	Tape []byte
}

// taken is a step and its client.
type taken struct {
	client string
	step   workload.Step
}

// plan returns the faults. A case always has the text of a plan, so that none is drawn.
func (c Case) plan() faults.Plan {
	plan, _ := faults.Parse(c.Spec.Plan) // it was printed by a plan
	return plan
}

func (c Case) withPlan(plan faults.Plan) Case {
	c.Spec.Plan = plan.String()
	return c
}

func (c Case) withParts(parts []workload.Part) Case {
	reduced := *c.Spec.Reduced
	reduced.Parts = parts
	c.Spec.Reduced = &reduced
	return c
}

// steps returns those of all clients, in order of time.
func (c Case) steps() []taken {
	var steps []taken
	for _, part := range c.Spec.Reduced.Parts {
		for _, step := range part.Steps {
			steps = append(steps, taken{part.Client, step})
		}
	}
	slices.SortStableFunc(steps, func(a, b taken) int { return cmp.Compare(a.step.At, b.step.At) })
	return steps
}

// withClients leaves out all other clients.
func (c Case) withClients(names []string) Case {
	return c.withParts(slices.DeleteFunc(slices.Clone(c.Spec.Reduced.Parts), func(p workload.Part) bool { return !slices.Contains(names, p.Client) }))
}

// withSteps reduces clients to these steps; those without any are left out.
func (c Case) withSteps(steps []taken) Case {
	var parts []workload.Part
	for _, part := range c.Spec.Reduced.Parts {
		var kept []workload.Step
		for _, step := range part.Steps {
			if slices.Contains(steps, taken{part.Client, step}) {
				kept = append(kept, step)
			}
		}
		if len(kept) > 0 {
			parts = append(parts, workload.Part{Client: part.Client, Steps: kept, Waits: part.Waits})
		}
	}
	return c.withParts(parts)
}

// margin is the time between the last event and the quiet phase.
const margin = 500 * time.Millisecond

// busy is how long something is due to happen, by the plan and the steps.
func (c Case) busy() time.Duration {
	var busy time.Duration
	for _, fault := range c.plan() {
		busy = max(busy, fault.End())
	}
	for _, part := range c.Spec.Reduced.Parts {
		if part.Client != workload.FinalWriter && len(part.Steps) > 0 {
			busy = max(busy, part.Steps[len(part.Steps)-1].At)
		}
	}
	return busy + margin
}

// size returns how large a case is, the most significant part first.
func (c Case) size() (faults, clients, steps int) {
	for _, part := range c.Spec.Reduced.Parts {
		steps += len(part.Steps)
	}
	return len(c.plan()), len(c.Spec.Reduced.Parts), steps
}
