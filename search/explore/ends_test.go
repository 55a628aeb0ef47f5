package explore

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim"
)

// TestARunThatIsNotJudgedHasTheVerdictOfItsEnd makes up a plain run and two that deviate
// from it and end their windows as it does.
func TestARunThatIsNotJudgedHasTheVerdictOfItsEnd(t *testing.T) {
	made := func(failed bool, deviated Outcome) Result {
		choices := []sim.Choice{{Kind: sim.KindPoint, Alternatives: 3, State: 7}}
		deviated.End, deviated.Explored = 5, sim.Explored{Choices: choices, State: 9}
		result, err := Search(context.Background(), NewExhaustive(1, 1), oneByOne(func(_ context.Context, a Attempt) (Outcome, error) {
			if len(a.Deviations) > 0 {
				return deviated, nil
			}
			return Outcome{Failed: failed, End: 5, Explored: deviated.Explored}, nil
		}), Limits{}, nil)
		require.NoError(t, err)
		require.Equal(t, 3, result.Runs)
		return result
	}
	result := made(true, Outcome{Unjudged: true})
	require.Equal(t, 3, result.Failed)
	require.Equal(t, 2, result.Unjudged)
	require.NotEmpty(t, result.Exhausted)

	result = made(false, Outcome{Failed: true})
	require.Equal(t, 2, result.Misjudged, "it was judged all the same, and failed")
	require.Empty(t, result.Exhausted)

	result = made(false, Outcome{})
	require.Equal(t, 2, result.Again)
	require.Zero(t, result.Misjudged)
	require.NotEmpty(t, result.Exhausted)
}
