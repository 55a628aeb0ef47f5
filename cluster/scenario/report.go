package scenario

import (
	"fmt"
	"strings"
	"time"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/linearizability/explain"
)

// violationsShown is how many violations a report lists; the rest is counted.
const violationsShown = 8

// timelinesShown is for how many of them there is a timeline: one is most of a
// screen. `simrun explain` draws the others.
const timelinesShown = 1

// Report is the verdict for people: what broke, by what witness, what happened
// around it, and how to see it again.
func (r *Run) Report(v Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  seed %d  target %s  scenario %s", strings.ToUpper(string(v.Outcome)), v.Seed, v.Target, v.Scenario)
	if v.Mutant != "" {
		fmt.Fprintf(&b, "  mutant %s", v.Mutant)
	}
	for _, branch := range v.Branches {
		fmt.Fprintf(&b, "  branch %v", branch)
	}
	fmt.Fprintf(&b, "\n  %.0f simulated seconds in %.0f ms, %d operations, %d watch events, %d decisions, hash %s\n",
		v.SimulatedSeconds, v.WallSeconds*1000, v.Operations, v.WatchEvents, v.Decisions, v.Hash)
	if v.Reason != "" {
		fmt.Fprintln(&b, explain.Wrap(2, v.Reason))
	}
	fmt.Fprintln(&b, explain.Wrap(2, "in it: "+v.Counts.Against(v.Minimum)))
	if v.Outcome == linearizability.Passed {
		r.reportUnfired(&b)
	}
	r.reportReduction(&b)
	for i, violation := range v.Violations {
		if i == violationsShown {
			fmt.Fprintf(&b, "  and %d more violations\n", len(v.Violations)-i)
			break
		}
		fmt.Fprintf(&b, "\n%s", explain.Text(violation.Text, violation.Explanation))
		if drawing := explain.Draw(violation.Slice); i < timelinesShown && drawing != "" {
			fmt.Fprintf(&b, "\n%s", drawing)
		}
	}
	for i, observation := range v.Observations {
		if i == violationsShown {
			fmt.Fprintf(&b, "\n  and %d more observations\n", len(v.Observations)-i)
			break
		}
		fmt.Fprintf(&b, "\n%s\n", explain.Wrap(2, "no failure, but "+observation))
	}
	if v.Outcome != linearizability.Passed {
		b.WriteString("\n  faults:\n")
		for _, fault := range r.Faults.Fired {
			fmt.Fprintf(&b, "    %8.3fs to %8.3fs  %s %s\n", seconds(fault.Begin), seconds(fault.End), fault.Name, fault.Note)
		}
		r.reportUnfired(&b)
		if len(r.Faults.Fired)+len(r.Faults.NotFired) == 0 {
			b.WriteString("    none\n")
		}
	}
	return b.String()
}

// reportReduction lists what the clients of a reduced run do.
func (r *Run) reportReduction(b *strings.Builder) {
	if r.Spec.Reduced == nil {
		return
	}
	fmt.Fprintf(b, "  reduced to what breaks %s; steps that clients take:\n", r.Spec.Reduced.Guarantee)
	for _, part := range r.Spec.Reduced.Parts {
		fmt.Fprintln(b, explain.Wrap(4, part.String()))
	}
	if len(r.Spec.Reduced.Parts) == 0 {
		b.WriteString("    none\n")
	}
}

// reportUnfired lists the planned faults that could not happen.
func (r *Run) reportUnfired(b *strings.Builder) {
	for _, fault := range r.unfired() {
		fmt.Fprintln(b, explain.Wrap(4, fmt.Sprintf("not fired: %s: %s", fault.Fault, fault.Reason)))
	}
}

func seconds(nanoseconds int64) float64 { return time.Duration(nanoseconds).Seconds() }
