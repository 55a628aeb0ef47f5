package judge

import (
	"fmt"
	"strings"
	"time"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
)

// maxViolations is the most violations, and the most observations, that a report
// lists; the others are counted.
const maxViolations = 8

// maxTimelines is the number of violations with a diagram in a report.
const maxTimelines = 1

// Report returns the verdict as text, in lines of at most [explain.Columns] except
// for long paths.
func (v Verdict) Report() string {
	var b strings.Builder
	v.summary(&b)
	v.violations(&b, func(i int, violation Violation) {
		if drawing := explain.Draw(violation.Slice); i < maxTimelines && drawing != "" {
			fmt.Fprintf(&b, "\n%s", drawing)
		}
	})
	for i, observation := range v.Observations {
		if i == maxViolations {
			fmt.Fprintf(&b, "\n  and %d more observations, which --json lists\n", len(v.Observations)-i)
			break
		}
		fmt.Fprintf(&b, "\n%s", explain.Text("seen, but no violation: "+observation, nil))
	}
	b.WriteString(v.staleReads())
	return b.String()
}

// staleReads says which servers returned stale states. For a history from a real
// cluster it lists all servers, because users ask for that.
func (v Verdict) staleReads() string {
	var b strings.Builder
	for _, server := range v.Stale {
		if server.Worst == nil && v.Attributes[traces.AttributeTruth] == "" {
			continue
		}
		if b.Len() == 0 {
			b.WriteString("\n  stale reads, compared with the newest state that any server had returned by then\n")
		}
		fmt.Fprintln(&b, explain.Wrap(4, server.text(v.at)))
	}
	return b.String()
}

// text returns it in sentences. at prints a time of the history.
func (s Staleness) text(at func(int64) string) string {
	parts := []string{fmt.Sprintf("%s: %d of %d reads stale, %d of %d streams behind at their end.", s.Server, s.StaleReads, s.Reads, s.Behind, s.Streams)}
	if w := s.Worst; w != nil {
		verb := "returned"
		allowed := "The resourceVersion of the request allows that."
		if !w.Allowed {
			allowed = "That is not allowed, because the request asked for the newest state."
		}
		if strings.HasPrefix(w.What, "stream") {
			verb, allowed = "had reached", ""
		}
		parts = append(parts, fmt.Sprintf("The worst: %s %s RV %d at %s, %s behind RV %d, %s after %s.",
			w.What, verb, w.RV, at(w.Time), model.Plural(w.Missed, "change"), w.Newest, age(w.Age), w.Seen))
		if allowed != "" {
			parts = append(parts, allowed)
		}
	}
	if p := s.Period; p != nil {
		fresh := "and nothing newer was returned after that"
		if p.Fresh != model.Pending {
			fresh = "and it was fresh again at " + at(p.Fresh)
		}
		parts = append(parts, fmt.Sprintf("Everything it returned from %s to %s was stale, %s.", at(p.From), at(p.To), fresh))
	}
	return strings.Join(parts, " ")
}

// age prints a duration, rounded.
func age(nanoseconds int64) string {
	d := time.Duration(nanoseconds)
	if d >= time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Microsecond).String()
}

// at prints a time of the history, with the time of day if it is known.
func (v Verdict) at(nanoseconds int64) string {
	text := time.Duration(nanoseconds).Round(time.Microsecond).String()
	began, err := time.Parse(time.RFC3339Nano, v.Attributes[traces.AttributeBegan])
	if err != nil {
		return text
	}
	return text + " (" + began.Add(time.Duration(nanoseconds)).UTC().Format("15:04:05.000") + ")"
}

// Explanation returns all that is known of each violation as text: what
// [Verdict.Report] says, the steps that led to it, and a diagram of them.
func (v Verdict) Explanation() string {
	var b strings.Builder
	v.summary(&b)
	v.violations(&b, func(_ int, violation Violation) {
		if len(violation.Slice) > 0 {
			fmt.Fprintf(&b, "\n    step by step:\n%s\n%s", explain.Steps(4, violation.Slice), explain.Draw(violation.Slice))
		}
	})
	return b.String()
}

// violations writes the paragraphs of each violation and what further adds, and how
// many more there are.
func (v Verdict) violations(b *strings.Builder, further func(i int, violation Violation)) {
	for i, violation := range v.Violations {
		if i == maxViolations {
			fmt.Fprintf(b, "\n  and %d more violations, which --json lists\n", len(v.Violations)-i)
			break
		}
		fmt.Fprintf(b, "\n%s", explain.Text(violation.Text, violation.Explanation))
		further(i, violation)
	}
}

// summary writes the file, the outcome and the counts.
func (v Verdict) summary(b *strings.Builder) {
	fmt.Fprintf(b, "%s  %s\n", strings.ToUpper(string(v.Outcome)), v.File)
	about := ""
	if v.Target != "" {
		about = fmt.Sprintf("seed %d of target %s; ", v.Seed, v.Target)
	}
	fmt.Fprintln(b, explain.Wrap(2, about+fmt.Sprintf("%.1f recorded seconds judged in %.1f ms, %d operations, %d streams, %d watch events",
		v.RecordedSeconds, v.CheckSeconds*1000, v.Operations, v.Streams, v.WatchEvents)))
	if v.Counts != (linearizability.Counts{}) {
		fmt.Fprintln(b, explain.Wrap(2, "in it: "+v.Counts.Against(v.Minimum)))
	}
	if truth := v.Attributes[traces.AttributeTruth]; truth != "" {
		fmt.Fprintln(b, explain.Wrap(2, "truth: "+truth))
	}
	if until := v.Attributes[traces.AttributeUnfinished]; until != "" {
		fmt.Fprintln(b, explain.Wrap(2, fmt.Sprintf("cut short: recorded until %.40s; the recorder ended before it could write the rest", until)))
	}
	if v.Reason != "" {
		fmt.Fprintln(b, explain.Wrap(2, v.Reason))
	}
}
