package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/selfbuild"
)

// The witness of a failed seed is one line of its report.
func TestWitness(t *testing.T) {
	for report, witness := range map[string]string{
		`{"passed":12,"failure":{"seed":13,"log":["manager-0 has exited with code 1","Config.Check: SurgeKept: deployment red/a has 7 pods\n    manager-0 asked for that"]}}`:   "Config.Check: SurgeKept: deployment red/a has 7 pods",
		`{"failure":{"seed":6,"log":["manager-0 has exited with code 1"],"violations":[{"text":"Linearizable: user's delete of blue/c (operation 151)\n  returned TooMany"}]}}`: "Linearizable: user's delete of blue/c (operation 151)",
		`{"failure":{"seed":6,"stop":"out of memory"}}`: "out of memory",
	} {
		var r selfbuild.Report
		require.NoError(t, json.Unmarshal([]byte(report), &r))
		require.Equal(t, witness, witnessOf(r.Failure))
	}
}

// Whichever of several mutants makes a run fail is found in few runs, and so are two that only do so together.
func TestNeeded(t *testing.T) {
	const all = 22
	some := make([]mutant.Mutant, all)
	for i := range some {
		some[i].Name = strconv.Itoa(i)
	}
	for i := range some {
		for _, want := range [][]mutant.Mutant{some[i : i+1], {some[min(i, all-1-i)], some[max(i, all-1-i)]}} {
			runs := 0
			need, witness, err := needed(some, testedOutcome{failed: 1}, func(fewer []mutant.Mutant) (ran testedOutcome, err error) {
				runs++
				for _, m := range want {
					if !slices.ContainsFunc(fewer, func(other mutant.Mutant) bool { return other.Name == m.Name }) {
						return testedOutcome{seeds: 1}, nil
					}
				}
				return testedOutcome{seeds: 1, failed: 1, witness: strings.Join(namesOf(fewer), ",")}, nil
			})
			require.NoError(t, err)
			require.Equal(t, namesOf(want), namesOf(need))
			require.Equal(t, strings.Join(namesOf(want), ","), witness, "of the run with just these")
			require.LessOrEqual(t, runs, 12*len(want))
		}
	}
}
