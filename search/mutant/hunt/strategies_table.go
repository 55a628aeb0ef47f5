package main

import (
	"fmt"
	"strings"

	"github.com/watchsim/watchsim/search/mutant"
)

// strategyTable renders how soon each strategy finds each bug.
func strategyTable(chosen []mutant.Mutant, strategies []strategy, results []result) string {
	var b strings.Builder
	b.WriteString("| bug | scenario |")
	for _, s := range strategies {
		fmt.Fprintf(&b, " %s |", s.name)
	}
	fmt.Fprintf(&b, "\n|---|---|%s\n", strings.Repeat("---|", len(strategies)))
	for _, m := range chosen {
		fmt.Fprintf(&b, "| %s | `%s` |", m.Name, strings.Join(m.Hunt, " "))
		for _, s := range strategies {
			fmt.Fprintf(&b, " %s |", strategyCell(trialsBy(results, m, s.name)))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// strategyCell is the median and the 95th percentile of runs, and of processor time until
// detection, over the successful trials.
func strategyCell(trials []result) string {
	runs, seconds, all := detections(trials)
	spent := 0.0
	for _, r := range trials {
		spent += r.Seconds
	}
	switch {
	case len(trials) == 0:
		return "–"
	case len(runs) == 0:
		return fmt.Sprintf("not in %d runs, %.0f s", all, spent)
	}
	both := fmt.Sprintf("%.0f (%.0f) runs, %.1f (%.1f) s", quantile(runs, 0.5), quantile(runs, 0.95), quantile(seconds, 0.5), quantile(seconds, 0.95))
	if len(runs) < len(trials) {
		return fmt.Sprintf("in %d of %d, %s", len(runs), len(trials), both)
	}
	return both
}
