package main

import "fmt"

// checkShareMost is how much of a run the oracle may take.
const checkShareMost = 0.2

// speed measures one worker on one scenario. Seeds a second leave out what a range pays
// for once: the worker and the boot of its template.
func speed(s settings, scenario string, seeds int, least float64) ([]row, error) {
	total, err := simrun(s, "--scenario", scenario, "--workers", "1", "--seeds", fmt.Sprintf("1-%d", max(2, seeds)))
	if err != nil {
		return nil, err
	}
	rate := float64(total.runs-1) / total.steady.Seconds()
	share := total.check / (total.wall + total.check)
	perSeed := func(seconds float64) float64 { return 1000 * seconds / float64(total.runs) }
	each, running, checking := 1000/rate, perSeed(total.wall), perSeed(total.check)
	return []row{
		{scenario + ": seeds a second a core", fmt.Sprintf("%.1f", rate), fmt.Sprintf("at least %.0f", least), rate >= least},
		{scenario + ": milliseconds a seed", fmt.Sprintf("%.1f: %.1f running, %.1f checking, %.1f besides",
			each, running, checking, each-running-checking), "", true},
		{scenario + ": CPU milliseconds a seed", fmt.Sprintf("%.1f", 1000*total.processorEach()), "", true},
		{scenario + ": page faults a seed", fmt.Sprint(total.faults / int64(total.runs)), "", true},
		{scenario + ": simulated seconds per wall second", fmt.Sprintf("%.0f", total.simulated/total.wall), "", true},
		{scenario + ": share of checking", fmt.Sprintf("%.1f %%", 100*share), fmt.Sprintf("at most %.0f %%", 100*checkShareMost), share <= checkShareMost},
		{scenario + ": passed", fmt.Sprintf("%d of %d", total.passed, total.runs), "", true},
	}, nil
}
