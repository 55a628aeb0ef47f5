package scenario

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
)

// Without the truth a history of broken promises and one of kept ones look the
// same. The seeds after it can be judged all the same.
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
