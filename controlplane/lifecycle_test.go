package controlplane_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/simtest"
)

// A released program ends in time when it is told to stop, and does not exit while nothing is wrong.
func TestEndings(t *testing.T) {
	const calm = 2 * time.Minute
	for name, row := range map[string]struct {
		ending simtest.Ending
		wrong  []string
	}{
		"an exit while something is wrong": {simtest.Ending{Program: "manager-0", How: "has exited with code 1", At: calm}, nil},
		"an exit while nothing is wrong": {simtest.Ending{Program: "manager-0", How: "has exited with code 1", At: calm + time.Second},
			[]string{"manager-0 has exited with code 1 at 2m1s, although nothing was wrong and nobody had told it to stop"}},
		"the exit of another program": {simtest.Ending{Program: "user", How: "has returned nil", At: calm + time.Second}, nil},
		"a stop in time":              {simtest.Ending{Program: "scheduler-0", How: "has exited with code 0", Told: calm, At: calm + time.Second}, nil},
		"a stop that takes too long": {simtest.Ending{Program: "scheduler-0", Told: time.Minute, At: time.Minute + simtest.GracePeriod, Killed: true},
			[]string{"scheduler-0 was told to stop at 1m0s, and had not ended 30s later"}},
	} {
		t.Run(name, func(t *testing.T) {
			plane := &controlplane.Plane{}
			plane.Calm(calm)
			broken, err := plane.Broken(simtest.Seen{Endings: []simtest.Ending{row.ending}})
			require.NoError(t, err)
			require.Equal(t, row.wrong, broken)
		})
	}
	broken, err := new(controlplane.Plane).Broken(simtest.Seen{Endings: []simtest.Ending{{Program: "manager-0", At: calm}}})
	require.NoError(t, err)
	require.Empty(t, broken, "a run that never became calm")
}
