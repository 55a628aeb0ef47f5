package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/mutant"
)

// What a failed seed is known by is one line of its report.
func TestWitness(t *testing.T) {
	for report, witness := range map[string]string{
		`{"passed":12,"failure":{"seed":13,"log":["manager-0 has exited with code 1","Config.Check: SurgeKept: deployment red/a has 7 pods\n    manager-0 asked for that"]}}`:   "Config.Check: SurgeKept: deployment red/a has 7 pods",
		`{"failure":{"seed":6,"log":["manager-0 has exited with code 1"],"violations":[{"text":"Linearizable: user's delete of blue/c (operation 151)\n  returned TooMany"}]}}`: "Linearizable: user's delete of blue/c (operation 151)",
		`{"failure":{"seed":6,"stop":"out of memory"}}`: "out of memory",
	} {
		var r testedReport
		require.NoError(t, json.Unmarshal([]byte(report), &r))
		require.Equal(t, witness, r.witness())
	}
}

// Whichever of several mutants makes a run fail is found in few runs, and none is if it takes two of them.
func TestGuilty(t *testing.T) {
	const all = 22
	some := make([]mutant.Mutant, all)
	for i := range some {
		some[i].Name = strconv.Itoa(i)
	}
	for i := range some {
		for _, needed := range [][]int{{i}, {i, all - 1 - i}} {
			runs := 0
			run := func(half []mutant.Mutant) (ran testedOutcome, err error) {
				runs++
				together := 0
				for _, n := range needed {
					if slices.ContainsFunc(half, func(m mutant.Mutant) bool { return m.Name == strconv.Itoa(n) }) {
						together++
					}
				}
				if together == len(needed) {
					ran.failed = 1
				}
				return ran, nil
			}
			one, _, err := guilty(some, testedOutcome{failed: 1}, run)
			require.NoError(t, err)
			if len(needed) == 1 {
				require.Equal(t, strconv.Itoa(i), one.Name)
			} else {
				require.Nil(t, one)
			}
			require.LessOrEqual(t, runs, 10)
		}
	}
}
