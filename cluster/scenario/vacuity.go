package scenario

import (
	"fmt"
	"reflect"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/linearizability"
)

// A verdict is worth only as much as its run. Each scenario of the catalogue therefore sets minimum
// counts; a run below them is inconclusive. The numbers are about half of the lowest seen in 300
// seeds: any seed that does what the scenario is for meets them, and a run that got stuck does not.
// What one seed in ten lacks by chance, such as a 410, is required only if the scenario is about
// it.

// minimum applies to runs of no scenario in the catalogue.
var minimum = linearizability.Counts{Writes: 5, Gets: 1, Lists: 2, Streams: 3, Events: 10, Changes: 5}

// minimum returns what must happen in a run of this spec: the scenario's minimum if the
// spec is at least as large as the scenario and otherwise equal. A plan that was not
// drawn from the seed makes it a different setting. A reduced run has no minimum. A
// release is not required to do what it does not support.
func (s Spec) minimum() linearizability.Counts {
	wanted := s.minimumOfScenario()
	if release, known := target.FindRelease(s.Target); known && release.RareBookmarks {
		wanted.Bookmarks = 0
	}
	return wanted
}

func (s Spec) minimumOfScenario() linearizability.Counts {
	if s.Reduced != nil {
		return linearizability.Counts{}
	}
	entry, known := find(s.Scenario)
	if !known {
		return minimum
	}
	whole, _ := Named(s.Scenario)
	whole.Explore = nil
	if entry.any {
		return entry.minimum
	}
	if s.Plan != whole.Plan && s.withoutDrawnPlan().Plan != "" {
		return minimum
	}
	if s.Duration < whole.Duration || s.Operations < whole.Operations {
		return minimum
	}
	s.Target, s.Mutant, s.Use, s.Seed, s.Plan, s.Explore = "", "", "", 0, whole.Plan, nil
	s.Duration, s.Operations = whole.Duration, whole.Operations
	if !reflect.DeepEqual(s, whole) {
		return minimum
	}
	return entry.minimum
}

// unaccounted returns the planned faults that neither fired nor were reported as not
// fired, with the reason. There are none unless the engine lost one.
func (r *Run) unaccounted() []string {
	var problems []string
	if fired, not := len(r.Faults.Fired), len(r.Faults.NotFired); fired+not != r.planned {
		problems = append(problems, fmt.Sprintf("of %d planned faults %d fired and %d did not, and nothing is known of the rest",
			r.planned, fired, not))
	}
	for _, fault := range r.Faults.NotFired {
		if fault.Reason == "" {
			problems = append(problems, fmt.Sprintf("the fault %q did not fire for no reason", fault.Fault))
		}
	}
	return problems
}

// Unfired is a planned fault that could not happen, and why.
type Unfired struct {
	Fault  string `json:"fault"`
	Reason string `json:"reason"`
}

// unfired lists the faults that could not happen.
func (r *Run) unfired() []Unfired {
	list := make([]Unfired, len(r.Faults.NotFired))
	for i, fault := range r.Faults.NotFired {
		list[i] = Unfired{Fault: fault.Fault.String(), Reason: fault.Reason}
	}
	return list
}
