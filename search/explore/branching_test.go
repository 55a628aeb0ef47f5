package explore

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestBranchingGoesBackToRareStates makes up runs that are in one of three states after
// another, and those of one seed in a fourth. From there alone a branch gets to where it
// fails, one in four of a further branch.
func TestBranchingGoesBackToRareStates(t *testing.T) {
	run := func(_ context.Context, group []Attempt) ([]Outcome, error) {
		outcomes := make([]Outcome, len(group))
		for i, attempt := range group {
			state, n := "common", len(attempt.Branches)
			from := slices.IndexFunc(attempt.Branches, func(b Branch) bool { return b.At == 3*time.Second })
			switch {
			case attempt.Seed == 5 && from >= 0:
				state = "further"
				outcomes[i].Failed = n > from+1 && attempt.Branches[from+1].Seed%4 == 0
			case attempt.Seed == 5:
				state = "rare"
			}
			outcomes[i].Looks = []Look{{time.Second, []string{"first"}}, {2 * time.Second, []string{"common"}}, {3 * time.Second, []string{state}}}
			require.Equal(t, attempt.Seed, group[0].Seed)
			require.Len(t, attempt.Branches, len(group[0].Branches))
			require.LessOrEqual(t, n, branchesMax)
		}
		return outcomes, nil
	}
	var failed Attempt
	strategy := NewBranching(1)
	result, err := Search(context.Background(), strategy, run, Limits{Runs: 200, Failures: 1}, func(attempt Attempt, outcome Outcome) {
		if outcome.Failed {
			failed = attempt
		}
	})
	require.NoError(t, err)
	require.Equal(t, 1, result.Failed)
	require.Less(t, result.Runs, 100)
	require.Equal(t, EndedFailures, result.Ended)
	require.Equal(t, 4, strategy.States())
	require.EqualValues(t, 5, failed.Seed)
	require.GreaterOrEqual(t, len(failed.Branches), 2)
}
