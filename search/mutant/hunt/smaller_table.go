package main

import (
	"fmt"
	"strings"

	"github.com/watchsim/watchsim/search/mutant"
)

const smallerPreface = `# Failing runs, minimised

What ` + "`simrun shrink`" + ` leaves of a failing run of each bug of the [track record](track-record.md): %d runs of different bugs.
[numbers.md](numbers.md) compares its cost with that of earlier source.
Each pair is before and after. A forced switch is a deviation from goroutines taking turns.

| median of what is left | |
|---|---|
| operations | %.0f |
| clients | %.0f |
| faults | %.0f |
| forced switches and stalls | %.0f |
| processor time | %.1f s |
| replays in fresh processes with the same hash | %d of %d |

%d searches were cut short by the limit of %v, or because no part of the run could be removed.

    make shrink-record    # measures what is missing and writes this page

| bug | seed | guarantee | operations | clients | faults | forced switches | stalls | tries | processor time | replays |
|---|---|---|---|---|---|---|---|---|---|---|
`

// smallerTable renders the results of shrinking as Markdown.
func smallerTable(all []mutant.Mutant, results []result) string {
	var rows strings.Builder
	var operations, clients, faults, forced, seconds []float64
	replays, same, cut := 0, 0, 0
	for _, m := range all {
		for _, r := range trialsOf(results, m) {
			s := r.Smaller
			if s == nil {
				continue
			}
			operations = append(operations, float64(s.Operations[1]))
			clients = append(clients, float64(s.Clients[1]))
			faults = append(faults, float64(s.Faults[1]))
			forced = append(forced, float64(s.Switches[1]+s.Stalls[1]))
			seconds = append(seconds, s.Processor)
			replays, same = replays+s.Replays, same+s.Same
			end := ""
			if !s.Complete {
				cut++
				end = ", cut short"
			}
			pair := func(of [2]int) string { return fmt.Sprintf("%d → %d", of[0], of[1]) }
			fmt.Fprintf(&rows, "| %s | %d | %s | %s | %s | %s | %s | %s | %d | %.1f s%s | %d of %d |\n",
				m.Name, s.Seed, s.Guarantee, pair(s.Operations), pair(s.Clients), pair(s.Faults), pair(s.Switches), pair(s.Stalls),
				s.Tried, s.Processor, end, s.Same, s.Replays)
		}
	}
	if len(operations) == 0 {
		return "# Failing runs, minimised\n\nNothing has been measured yet.\n"
	}
	return fmt.Sprintf(smallerPreface, len(operations), quantile(operations, 0.5), quantile(clients, 0.5), quantile(faults, 0.5),
		quantile(forced, 0.5), quantile(seconds, 0.5), same, replays, cut, shrinkBudget) + rows.String()
}
