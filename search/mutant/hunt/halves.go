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

func halfOf(m mutant.Mutant) string {
	if m.HeldOut() {
		return heldOut
	}
	return tuned
}

// bugsOf returns the trials of each bug of a half that was hunted. It leaves out controls and edits that
// are nobody's bug.
func bugsOf(half string, all []mutant.Mutant, results []result) (bugs [][]result) {
	for _, m := range all {
		trials := trialsOf(results, m)
		if m.Equivalent == "" && m.Source != "" && halfOf(m) == half && len(trials) > 0 {
			bugs = append(bugs, trials)
		}
	}
	return bugs
}

// sharesOf says what was found of each half of the mutants, one line each.
func sharesOf(all []mutant.Mutant, results []result) string {
	var b strings.Builder
	for _, half := range []string{tuned, heldOut} {
		bugs := bugsOf(half, all, results)
		if len(bugs) == 0 {
			continue
		}
		var medians []float64 // of the processor time until detection, of each bug found
		for _, trials := range bugs {
			if _, seconds, _ := detections(trials); len(seconds) > 0 {
				medians = append(medians, quantile(seconds, 0.5))
			}
		}
		fmt.Fprintf(&b, "%s: %d of %d found, %.0f %%", half, len(medians), len(bugs), 100*float64(len(medians))/float64(len(bugs)))
		if len(medians) > 0 {
			fmt.Fprintf(&b, "; in the median after %.1f s of processor time", quantile(medians, 0.5))
		}
		b.WriteString("\n")
	}
	return b.String()
}
