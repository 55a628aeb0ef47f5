package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a failed seed is known by is one line of its report.
func TestWitness(t *testing.T) {
	for report, witness := range map[string]string{
		`{"passed":12,"failure":{"seed":13,"log":["manager-0 has exited with code 1","Config.Check: SurgeKept: deployment red/a has 7 pods\n    manager-0 asked for that"]}}`:   "Config.Check: SurgeKept: deployment red/a has 7 pods",
		`{"failure":{"seed":6,"log":["manager-0 has exited with code 1"],"violations":[{"text":"Linearizable: user's delete of blue/c (operation 151)\n  returned TooMany"}]}}`: "Linearizable: user's delete of blue/c (operation 151)",
		`{"failure":{"seed":6,"stop":"out of memory"}}`: "out of memory",
	} {
		var r planeReport
		require.NoError(t, json.Unmarshal([]byte(report), &r))
		require.Equal(t, witness, r.witness())
	}
}
