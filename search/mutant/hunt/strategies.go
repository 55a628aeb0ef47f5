package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/sim"
)

// strategy is a way to choose the schedule of a run.
type strategy struct {
	name string
	// alter changes the schedule that the scenario has or the seed draws; nil for none.
	alter func(*sim.Schedule)
	// depth is that of a plan of priorities, 0 for a random walk.
	depth int
}

// strategies are those that --compare compares.
var strategies = []strategy{
	{name: "as simrun does"},
	{name: "walk alone", alter: func(s *sim.Schedule) { s.StallOneIn, s.FocusOneIn = 0, 0 }},
	{name: "stalls", alter: func(s *sim.Schedule) { s.StallOneIn, s.FocusOneIn = 20, 0 }},
	{name: "places in focus", alter: func(s *sim.Schedule) { s.StallOneIn, s.FocusOneIn = 0, 100 }},
	{name: "PCT, depth 2", depth: 2},
	{name: "PCT, depth 3", depth: 3},
}

// steer makes the strategy decide in a run. A plan of priorities covers as many steps as measure
// found.
func (s strategy) steer(spec scenario.Spec, steps uint64) scenario.Spec {
	if s.alter != nil {
		schedule := spec.DrawnSchedule()
		if spec.Schedule != nil {
			schedule = *spec.Schedule
		}
		s.alter(&schedule)
		spec.Schedule = &schedule
	}
	if s.depth > 0 {
		spec.Explore = spec.SearchedWhole()
		spec.Explore.Priorities = &sim.Priorities{Depth: s.depth, Steps: steps}
	}
	return spec
}

// measure finds out how long a run is, from a default one without a bug, and the processor time
// that this took.
func (s strategy) measure(ctx context.Context, run runner, spec scenario.Spec) (steps uint64, used time.Duration, err error) {
	if s.depth == 0 {
		return 0, 0, nil
	}
	spec.Explore = spec.SearchedWhole()
	v, used, err := run(ctx, "", spec)
	return max(1, v.steps), used, err
}

// compare makes the missing trials of all strategies.
func (h *hunter) compare(ctx context.Context, chosen []mutant.Mutant) error {
	return h.withPool(func() error {
		for _, h.by = range h.options.strategies() {
			if err := h.mutants(ctx, chosen); err != nil {
				return err
			}
		}
		return nil
	})
}

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
