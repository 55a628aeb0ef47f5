package controlplane_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/sim/overlay"
)

// Every mutant of this module edits existing code, and can be switched on and off.
func TestMutantsApply(t *testing.T) {
	dir := func(module string) (string, error) { return overlay.ModuleDir(overlay.Project{Dir: "."}, module) }
	for _, m := range mutant.ControlPlane() {
		t.Run(m.Name, func(t *testing.T) { require.NoError(t, mutant.Check(dir, m)) })
	}
	_, err := mutant.Switched(dir, mutant.ControlPlane())
	require.NoError(t, err)
}
