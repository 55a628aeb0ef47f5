package scenario

import (
	"fmt"
	"strings"
	"time"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/model"
)

// maxViolations is how many violations a verbose report lists; the rest are only
// counted.
const maxViolations = 8

// Report renders the verdict for people: the first violation in one sentence and how it
// came about, or why the run is inconclusive. A verbose report adds every violation
// with its context, coverage, and the faults.
func (r *Run) Report(v Verdict, verbose bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  seed %d  target %s  scenario %s", strings.ToUpper(string(v.Outcome)), v.Seed, v.Target, v.Scenario)
	if v.Mutant != "" {
		fmt.Fprintf(&b, "  mutant %s", v.Mutant)
	}
	if v.Use != "" {
		fmt.Fprintf(&b, "  use %s", v.Use)
	}
	for _, branch := range v.Branches {
		fmt.Fprintf(&b, "  branch %v", branch)
	}
	b.WriteByte('\n')
	if v.Reason != "" {
		fmt.Fprintln(&b, explain.Wrap(2, v.Reason))
	}
	if verbose {
		r.reportInFull(&b, v)
		return b.String()
	}
	if len(v.Violations) > 0 {
		first := v.Violations[0]
		fmt.Fprintf(&b, "%s\n  guarantee broken: %s\n", explain.Wrap(2, first.Sentence), first.Guarantee)
		if drawing := explain.Draw(first.Slice); drawing != "" {
			fmt.Fprintf(&b, "\n%s\n", drawing)
		}
	}
	if n := len(v.Violations) - 1; n > 0 {
		more := model.Plural(n, "more violation")
		if others := v.Broken()[1:]; len(others) > 0 {
			more += ", also of " + strings.Join(others, ", ")
		}
		fmt.Fprintln(&b, explain.Wrap(2, more))
	}
	if n := len(v.Observations); n > 0 {
		fmt.Fprintf(&b, "  %s that no guarantee forbids\n", model.Plural(n, "observation"))
	}
	r.reportReduction(&b)
	fmt.Fprintf(&b, "  %s\n", r.scale(v))
	return b.String()
}

// scale describes the size of the run.
func (r *Run) scale(v Verdict) string {
	return fmt.Sprintf("%.0f simulated seconds in %.0f ms, %d operations, %d watch events, %d faults, hash %s",
		v.SimulatedSeconds, v.WallSeconds*1000, v.Operations, v.WatchEvents, len(r.Faults.Fired), v.Hash)
}

// reportInFull adds what only a verbose report contains.
func (r *Run) reportInFull(b *strings.Builder, v Verdict) {
	fmt.Fprintf(b, "  %s, %d decisions\n", r.scale(v), v.Decisions)
	if r.Spec.Drawn() {
		fmt.Fprintln(b, explain.Wrap(2, "knobs: "+strings.Join(r.Spec.Unusual(), " ")))
	}
	fmt.Fprintln(b, explain.Wrap(2, "in it: "+v.Counts.Against(v.Minimum)))
	if len(v.Margins) > 0 {
		slowest := make([]string, len(v.Margins))
		for i, margin := range v.Margins {
			slowest[i] = margin.String()
		}
		fmt.Fprintln(b, explain.Wrap(2, "slowest while nothing was wrong: "+strings.Join(slowest, ", ")))
	}
	if v.Outcome == linearizability.Passed {
		r.reportUnfired(b)
	}
	r.reportReduction(b)
	for i, violation := range v.Violations {
		if i == maxViolations {
			fmt.Fprintf(b, "  and %d more violations\n", len(v.Violations)-i)
			break
		}
		fmt.Fprintf(b, "\n%s", explain.Text(violation.Text, violation.Explanation))
		if drawing := explain.Draw(violation.Slice); i == 0 && drawing != "" {
			// One drawing fills most of a screen; `simrun explain` draws the others.
			fmt.Fprintf(b, "\n%s", drawing)
		}
	}
	for i, observation := range v.Observations {
		if i == maxViolations {
			fmt.Fprintf(b, "\n  and %d more observations\n", len(v.Observations)-i)
			break
		}
		fmt.Fprintf(b, "\n%s\n", explain.Wrap(2, "no failure, but "+observation))
	}
	if v.Outcome != linearizability.Passed {
		b.WriteString("\n  faults:\n")
		for _, fault := range r.Faults.Fired {
			fmt.Fprintf(b, "    %8.3fs to %8.3fs  %s %s\n", seconds(fault.Begin), seconds(fault.End), fault.Name, fault.Note)
		}
		r.reportUnfired(b)
		if len(r.Faults.Fired)+len(r.Faults.NotFired) == 0 {
			b.WriteString("    none\n")
		}
	}
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
