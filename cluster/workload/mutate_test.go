package workload

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/target/memory"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// A store that delivers its own objects instead of copies is found out: consumers mutate them.
// TestTheHistoryOfACorrectStorePassesTheOracle has the same clients and copies.
func TestAStoreThatSharesItsObjectsIsFoundOut(t *testing.T) {
	judge := linearizability.DefaultConfig()
	judge.Window = window
	history := run(t, 7, DefaultConfig(), func(_ *Workload, store *memory.Store) []model.Fault {
		store.Share()
		return nil
	})
	verdict := linearizability.Check(&history, judge)
	require.Greater(t, verdict.Counts.Mutated, 10, "consumers have to mutate something")
	require.NotEmpty(t, verdict.Violations)
	require.ErrorIs(t, verdict.Violations[0], linearizability.Isolated)
}

// TestStalledWatchersStallAndTheFloodComes tests the clients of the scenario crowd.
func TestStalledWatchersStallAndTheFloodComes(t *testing.T) {
	config := DefaultConfig()
	config.StalledWatchers, config.Flood = 3, 50
	history := run(t, 7, config, nil)
	stalled, afterHealing, writes := 0, 0, 0
	for _, stream := range history.Streams {
		if len(stream.Client) > 7 && stream.Client[:7] == "sleeper" {
			require.True(t, stream.Consumer == Stalled, "stream %d of %s is read by a consumer that is %s", stream.ID, stream.Client, stream.Consumer)
			require.LessOrEqual(t, len(stream.Events), maxStallAfter)
			stalled++
			if stream.Call > int64(config.Active()) {
				afterHealing++
			}
		}
	}
	for _, op := range history.Operations {
		if op.Client == FinalWriter && op.Call >= int64(config.Active()+floodDelay) && op.Object != nil {
			writes++
		}
	}
	require.Greater(t, stalled, 10)
	require.Positive(t, afterHealing, "healing must not affect a stalled watcher")
	require.GreaterOrEqual(t, writes, config.Flood)
}

// The store that obeys the specification, the clients that record its answers and the oracle that
// checks the recording must agree.
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
