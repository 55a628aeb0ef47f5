package main

import (
	"fmt"
	"strings"

	"github.com/watchsim/watchsim/search/mutant"
)

// The halves of the mutants: those that scenarios and rules may be tuned on, and the held-out ones,
// which predict how many unknown bugs are found.
const (
	tuned   = "tuned"
	heldOut = "held-out"
)

func half(m mutant.Mutant) string {
	if m.HeldOut() {
		return heldOut
	}
	return tuned
}

// share is the result for a group of bugs.
type share struct {
	found, hunted int
	// seconds is the processor time until detection, the median of each bug.
	seconds []float64
}

// sharesOf says what was found of each half of the mutants, one line each. It leaves out controls
// and edits that are nobody's bug.
func sharesOf(all []mutant.Mutant, results []result) string {
	shares := map[string]*share{tuned: {}, heldOut: {}}
	for _, m := range all {
		trials := trialsOf(results, m)
		if m.Equivalent != "" || m.Source == "" || len(trials) == 0 {
			continue
		}
		s := shares[half(m)]
		s.hunted++
		if _, seconds, _ := detections(trials); len(seconds) > 0 {
			s.found++
			s.seconds = append(s.seconds, quantile(seconds, 0.5))
		}
	}
	var b strings.Builder
	for _, name := range []string{tuned, heldOut} {
		if s := shares[name]; s.hunted > 0 {
			fmt.Fprintf(&b, "%s: %s\n", name, s.text())
		}
	}
	return b.String()
}

func (s share) text() string {
	words := fmt.Sprintf("%d of %d found, %.0f %%", s.found, s.hunted, 100*float64(s.found)/float64(s.hunted))
	if len(s.seconds) > 0 {
		words += fmt.Sprintf("; in the median after %.1f s of processor time", quantile(s.seconds, 0.5))
	}
	return words
}
