package decisive

import (
	"fmt"
	"strings"
	"time"

	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/sim"
)

// Text tells of the decisions that matter. Times are those of the history.
func (e Explained) Text() string {
	found, turns, began := e.Found, e.Turns, e.Began
	var b strings.Builder
	say := func(indent int, format string, arguments ...any) {
		b.WriteString(explain.Wrap(indent, fmt.Sprintf(format, arguments...)) + "\n")
	}
	switch {
	case found.Choices == 0:
		say(2, "No decision of the scheduler matters: goroutines take turns, and it fails all the same.")
		return b.String()
	case len(turns) == 0:
		say(2, "Of the %d decisions of the scheduler that are not the plain ones, %d were tried, and none matters by itself: "+
			"with the plain choice in the place of any one of them the guarantee is broken as well.", found.Choices, found.Tried)
		return b.String()
	}
	say(2, "%s of the scheduler that it needs: with the plain choice in its place, and nothing else changed, the guarantee "+
		"holds. %d choices of the run are not the plain ones; %d of them were tried.", heading(len(turns)), found.Choices, found.Tried)
	for i, turn := range turns {
		b.WriteString("\n")
		turn.write(&b, i+1, began)
	}
	return b.String()
}

func heading(n int) string {
	if n == 1 {
		return "There is 1 decision"
	}
	return fmt.Sprintf("There are %d decisions", n)
}

func (t Turn) write(b *strings.Builder, number int, began time.Duration) {
	d := t.Decision
	what := map[string]string{
		sim.DecidesPick:   fmt.Sprintf("goroutine #%d runs before %s that had waited longer", d.Goroutine, others(d.Chosen)),
		sim.DecidesYield:  fmt.Sprintf("goroutine #%d is interrupted, and others run first", d.Goroutine),
		sim.DecidesStall:  fmt.Sprintf("goroutine #%d is interrupted, and others run first", d.Goroutine),
		sim.DecidesLength: fmt.Sprintf("goroutine #%d is held up for %v", d.Goroutine, t.Held.Round(time.Millisecond)),
		sim.DecidesSelect: fmt.Sprintf("goroutine #%d finds another case of a select ready first", d.Goroutine),
	}[d.Kind]
	fmt.Fprintln(b, explain.Wrap(4, fmt.Sprintf("%d. at %s %s (decision %d).", number, clock(d.At-began), what, d.Number)))
	steps := func(title string, list []Step, own bool) {
		if len(list) == 0 {
			return
		}
		fmt.Fprintln(b, explain.Wrap(7, title))
		for _, s := range list {
			who := ""
			if !own {
				who = fmt.Sprintf("goroutine #%d in ", s.Goroutine)
			}
			within := ""
			if s.Within != s.Function {
				within = ", within " + s.Within
			}
			fmt.Fprintf(b, "%s\n", explain.Wrap(9, fmt.Sprintf("%s %s%s%s", clock(s.At-began), who, s.Function, within)))
		}
	}
	steps("before that it was in", t.Before, true)
	steps("while it waited, there were", t.Meanwhile, false)
	steps("then it went on in", t.After, true)
	if len(t.Before)+len(t.After)+len(t.Meanwhile) == 0 && d.Callers != "" {
		fmt.Fprintln(b, explain.Wrap(7, "in "+d.Callers))
	}
}

func others(n uint32) string {
	if n == 1 {
		return "another"
	}
	return fmt.Sprintf("%d others", n)
}

func clock(at time.Duration) string { return fmt.Sprintf("%.3fs", at.Seconds()) }
