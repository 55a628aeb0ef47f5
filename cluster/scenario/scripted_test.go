package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/faults"
)

func TestScriptedScenariosArePossible(t *testing.T) {
	for _, entry := range scripted {
		spec, err := Named(entry.Name)
		require.NoError(t, err)
		require.NoError(t, spec.Validate(), entry.Name)
		require.Equal(t, entry.minimum, spec.minimum(), "%s: with its own plan it is what the catalogue says", entry.Name)
		if spec.Plan != "" {
			plan, err := faults.Parse(spec.Plan)
			require.NoError(t, err)
			require.Equal(t, spec.Plan, plan.String(), "%s: the text is the one that a folder holds", entry.Name)
		}
		spec.Explore.To = spec.Duration
		require.ErrorIs(t, spec.Validate(), ErrSpec, "%s: a window that outlasts the faults", entry.Name)
		again, err := Named(entry.Name)
		require.NoError(t, err)
		require.NoError(t, again.Validate(), "a changed spec leaves the catalogue alone")
	}
}
