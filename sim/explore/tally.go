package explore

import (
	"fmt"
	"strings"
)

// Tally is what a search has seen.
type Tally struct {
	// Runs is how many attempts were run to their end; Failed and Inconclusive are
	// those of them with such verdicts.
	Runs, Failed, Inconclusive int
	// Shapes is how many different ones there were. New has, for each run, how many
	// there were up to then.
	shapes map[uint64]struct{}
	curve  []int
	// Contradictions counts runs that ended their window in the same state as another
	// and left another history: then shapes do not tell everything.
	Contradictions int
	histories      map[uint64]uint64 // by state
	// FirstFailure is the number of the first attempt that failed, -1 if none did.
	FirstFailure int
}

func newTally() *Tally {
	return &Tally{shapes: map[uint64]struct{}{}, histories: map[uint64]uint64{}, FirstFailure: -1}
}

func (t *Tally) add(attempt Attempt, outcome Outcome) {
	t.Runs++
	switch {
	case outcome.Failed:
		t.Failed++
		if t.FirstFailure < 0 {
			t.FirstFailure = attempt.Number
		}
	case outcome.Inconclusive:
		t.Inconclusive++
	}
	t.shapes[outcome.Explored.Shape] = struct{}{}
	t.curve = append(t.curve, len(t.shapes))
	if attempt.Observe || attempt.Priorities != nil || outcome.History == 0 {
		return // another seed is another scenario
	}
	history, known := t.histories[outcome.Explored.State]
	if known && history != outcome.History {
		t.Contradictions++
	}
	t.histories[outcome.Explored.State] = outcome.History
}

// Shapes is how many different shapes the runs had.
func (t *Tally) Shapes() int { return len(t.shapes) }

// tenth is how many of the runs the last tenth are.
func (t *Tally) tenth() int { return max(1, (t.Runs+9)/10) }

// NewInLastTenth is how many shapes only the last tenth of the runs had.
func (t *Tally) NewInLastTenth() int {
	if t.Runs <= t.tenth() {
		return t.Shapes()
	}
	return t.Shapes() - t.curve[t.Runs-t.tenth()-1]
}

// flatBelow is how many new shapes in a hundred runs still count as a flat curve.
const flatBelow = 1

// Flat reports whether hardly any new shapes came in the last tenth of the runs.
func (t *Tally) Flat() bool { return 100*t.NewInLastTenth() <= flatBelow*t.tenth() }

// Curve renders how many shapes were known after each tenth of the runs.
func (t *Tally) Curve() string {
	var points []string
	for i := 1; i <= 10 && t.Runs > 0; i++ {
		points = append(points, fmt.Sprint(t.curve[max(0, t.Runs*i/10-1)]))
	}
	return strings.Join(points, " ")
}
