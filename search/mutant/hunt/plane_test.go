package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What a test of simtest prints says which seed failed, and ends the run's own log with why.
func TestPlaneReportsAreRead(t *testing.T) {
	report := `=== RUN   TestAny
    any_test.go:45: 12 seeds passed in 41.3s, with 80.1s of processor time
        never: a conflict
    any_test.go:45: seed 13 failed after 3m1s of simulated time (hash 0123456789abcdef):
            cluster.go:100: 42.882s: manager-0 has exited with code 1 and is started again in 10s
            Config.Check: SurgeKept: deployment red/a has 7 pods
                manager-0 asked for that at 49.196s.
        The API servers kept all guarantees of list and watch.
`
	require.Equal(t, "12", planePassed.FindStringSubmatch(report)[1])
	failed := planeFailed.FindStringSubmatch(report)
	require.Equal(t, "13", failed[1])
	require.Equal(t, "Config.Check: SurgeKept: deployment red/a has 7 pods", lastLine(failed[2]+failed[3]))
	broken := planeFailed.FindStringSubmatch(`    any_test.go:53: seed 6 failed after 3m24.892s of simulated time (hash 0123456789abcdef):
            cluster.go:117: 18.161s: manager-0 has exited with code 1 and is started again in 10s
        The API servers broke a guarantee of services:
            Linearizable: user's delete of blue/c (operation 151) returned TooMany, but no other operation can
              have made the deletion at RV 259
`)
	require.Equal(t, "Linearizable: user's delete of blue/c (operation 151) returned TooMany, but no other operation can", lastLine(broken[2]+broken[3]))
	require.Nil(t, planeFailed.FindStringSubmatch("    any_test.go:45: 1 seed passed in 3s, with 5s of processor time (hash 0123456789abcdef)\n"))
}
