package workload

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/target/memory"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// Three implementations of the specification must agree: the store that obeys it, the
// clients that record it and the oracle that checks it.
func TestTheHistoryOfACorrectStorePassesTheOracle(t *testing.T) {
	judge := linearizability.DefaultConfig()
	judge.Window = window
	for seed := range uint64(30) {
		for name, disturb := range map[string]func(*Workload, *memory.Store) []model.Fault{"calm": nil, "unrest": unrest} {
			history := run(t, seed, DefaultConfig(), disturb)
			verdict := linearizability.Check(&history, judge)
			require.Equal(t, linearizability.Passed, verdict.Outcome, "seed %d, %s: %+v", seed, name, verdict)
		}
	}
}
