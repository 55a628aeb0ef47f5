package explore

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim"
)

// TestBranchingGoesBackToRareStates invents runs that are in one of three states after another, and
// those of one seed in a fourth. Only from there a branch gets to a failing state, in one of four
// further branches.
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

// TestARunThatIsNotJudgedHasTheVerdictOfItsEnd has runs that end their windows alike.
func TestARunThatIsNotJudgedHasTheVerdictOfItsEnd(t *testing.T) {
	explored := sim.Explored{Choices: []sim.Choice{{Kind: sim.KindPoint, Alternatives: 3, State: 7}}, State: 9}
	passed, failed := Outcome{End: 5, Explored: explored}, Outcome{Failed: true, End: 5, Explored: explored}
	result, _ := invented(t, failed, Outcome{Unjudged: true, End: 5, Explored: explored})
	require.Equal(t, 3, result.Failed)
	require.Equal(t, 2, result.Unjudged)
	require.NotEmpty(t, result.Exhausted)

	result, _ = invented(t, passed, failed)
	require.Equal(t, 2, result.Misjudged, "it was judged all the same, and failed")
	require.Empty(t, result.Exhausted)

	result, _ = invented(t, passed, passed)
	require.Equal(t, 2, result.Again)
	require.Zero(t, result.Misjudged)
	require.NotEmpty(t, result.Exhausted)
}
