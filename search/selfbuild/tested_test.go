package selfbuild_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/selfbuild"
)

// The control plane has mutants of API servers' code only if one of them is requested, and none of the project's own cache.
func TestMutantsToChoose(t *testing.T) {
	for _, one := range selfbuild.AllTested() {
		require.Equal(t, len(one.Mutants()), len(one.ToChoose()), one.Name)
		for _, m := range one.Mutants() {
			require.Equal(t, len(one.Mutants()), len(one.ToChoose(m.Name)), m.Name)
			require.NotEmpty(t, one.Test(m), "%s has no scenario for %s", one.Name, m.Name)
		}
		if one.Name != selfbuild.ControlPlane {
			require.Nil(t, one.Below)
			continue
		}
		require.Len(t, one.ToChoose("fix-finding-1"), len(mutant.ControlPlane())+len(mutant.All()))
		for _, m := range one.Below() {
			require.Equal(t, m.Target == "cacher", one.Test(m) == "", m.Name)
		}
	}
}
