package controlplane_test

import (
	"slices"
	"strings"
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

// Hunts have all fixes on, except that of finding 46, which runs do not reach.
func TestFixesDoNotOverlap(t *testing.T) {
	dir := func(module string) (string, error) { return overlay.ModuleDir(overlay.Project{Dir: "."}, module) }
	fixes := slices.DeleteFunc(mutant.ControlPlane(), func(m mutant.Mutant) bool { return !strings.HasPrefix(m.Name, "fix-finding-") })
	overlaps, err := mutant.Overlaps(dir, fixes)
	require.NoError(t, err)
	require.Equal(t, []string{"fix-finding-45 and fix-finding-46 edit syncCronJob in pkg/controller/cronjob/cronjob_controllerv2.go"}, overlaps)
}
