package explore

import (
	"fmt"
	"strings"
)

// Tally is the statistics of a search.
type Tally struct {
	// Runs counts completed attempts; Failed and Inconclusive those with such verdicts.
	Runs, Failed, Inconclusive int
	// shapes are the distinct shapes, and curve has, for each run, how many there were
	// up to then.
	shapes map[uint64]struct{}
	curve  []int
	// Contradictions counts runs that ended their window in the same state as another and left
	// another history: then shapes are incomplete.
	Contradictions int
	histories      map[uint64]uint64 // by state
	// Unjudged counts runs that ended their window like an earlier one, whose verdict they have.
	// Again counts those that were judged nevertheless, and Misjudged those of them with another
	// verdict: then ends of windows are incomplete.
	Unjudged, Again, Misjudged int
	ends                       map[uint64]verdict
	// FirstFailure is the number of the first attempt that failed, -1 if none did.
	FirstFailure int
}

type verdict struct{ failed, inconclusive bool }

func newTally() *Tally {
	return &Tally{ends: map[uint64]verdict{}, shapes: map[uint64]struct{}{}, histories: map[uint64]uint64{}, FirstFailure: -1}
}

// add counts an outcome and returns it with its verdict.
func (t *Tally) add(attempt Attempt, outcome Outcome) Outcome {
	t.Runs++
	if outcome.End != 0 {
		outcome = t.judged(outcome)
	}
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
		return outcome // another seed is another scenario
	}
	history, known := t.histories[outcome.Explored.State]
	if known && history != outcome.History {
		t.Contradictions++
	}
	t.histories[outcome.Explored.State] = outcome.History
	return outcome
}

// judged gives an outcome the earlier verdict of its end, or remembers its own.
func (t *Tally) judged(outcome Outcome) Outcome {
	own := verdict{outcome.Failed, outcome.Inconclusive}
	before, known := t.ends[outcome.End]
	switch {
	case outcome.Unjudged:
		t.Unjudged++
		outcome.Failed, outcome.Inconclusive = before.failed, before.inconclusive || !known
	case !known:
		t.ends[outcome.End] = own
	default:
		if t.Again++; own != before {
			t.Misjudged++
		}
	}
	return outcome
}

// Shapes returns how many distinct shapes the runs had.
func (t *Tally) Shapes() int { return len(t.shapes) }

// tenth returns how many runs the last tenth has.
func (t *Tally) tenth() int { return max(1, (t.Runs+9)/10) }

// NewInLastTenth returns how many shapes only the last tenth of the runs had.
func (t *Tally) NewInLastTenth() int {
	if t.Runs <= t.tenth() {
		return t.Shapes()
	}
	return t.Shapes() - t.curve[t.Runs-t.tenth()-1]
}

// flatBelow is how many new shapes in 100 runs still count as a flat curve.
const flatBelow = 1

// Flat reports whether the last tenth of the runs had hardly any new shapes.
func (t *Tally) Flat() bool { return 100*t.NewInLastTenth() <= flatBelow*t.tenth() }

// Curve renders how many shapes were known after each tenth of the runs.
func (t *Tally) Curve() string {
	var points []string
	for i := 1; i <= 10 && t.Runs > 0; i++ {
		points = append(points, fmt.Sprint(t.curve[max(0, t.Runs*i/10-1)]))
	}
	return strings.Join(points, " ")
}
