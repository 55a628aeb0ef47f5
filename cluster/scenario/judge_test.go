package scenario

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
)

// Without etcd's log, a correct history and an incorrect one look the same. Later seeds
// can still be checked.
func TestARunWithoutItsTruthIsInconclusive(t *testing.T) {
	spec, err := Named("minute")
	require.NoError(t, err)
	run := &Run{Spec: spec, Result: &sim.Result{Stop: sim.Completed}, History: &model.History{},
		Unreadable: errors.New("cannot read the truth from etcd's logs: a page is missing")}
	verdict := run.Judge()
	require.Equal(t, linearizability.Inconclusive, verdict.Outcome)
	require.Equal(t, "cannot read the truth from etcd's logs: a page is missing", verdict.Reason)
	require.Empty(t, verdict.Violations)
}
