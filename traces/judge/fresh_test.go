package judge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/linearizability/stale"
)

func TestDemand(t *testing.T) {
	v := Verdict{Outcome: linearizability.Passed, Stale: []stale.Server{
		{Name: "a"}, {Name: "b", Worst: &stale.Look{}, Period: &stale.Period{From: 1e9, To: 4e9, Fresh: -1, Looks: 2}}}}
	v.Demand(3 * time.Second)
	require.Equal(t, Passed, v.Severity(), "not longer than that")
	v.Demand(2 * time.Second)
	require.Equal(t, Failed, v.Severity())
	require.Equal(t, "Fresh: all that server b showed from 1s to 4s was stale, 2 reads and streams (no server may show nothing but old states for longer than 2s)",
		v.Violations[0].Text)
	require.Contains(t, v.Report(), "FAILED")
}
