package simrun

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/selfbuild"
)

// canarySeeds catch the canary, most of them alone. A harness that needs more misses bugs.
const canarySeeds = "1-4"

// The harness that passes Kubernetes' cacher also catches a damaged one.
func TestCanaryIsCaught(t *testing.T) {
	code, stdout, stderr := simrun(t, "--seeds", canarySeeds, "--target", "kubernetes")
	require.Equal(t, exitPassed, code, "the cacher is not damaged:\n%s%s", stdout, stderr)

	canary, err := mutant.Find("canary")
	require.NoError(t, err)
	binary, err := selfbuild.Build(nil, nil, canary)
	require.NoError(t, err)
	damaged := exec.Command(binary, "--mutant", canary.Name, "--seeds", canarySeeds)
	damaged.Dir = t.TempDir()
	out, err := damaged.Output()
	require.Equal(t, exitFailed, exitCode(t, err), "the canary is not caught:\n%s", out)
	require.Contains(t, string(out), "Reliable broken in ")
	require.Contains(t, string(out), "--mutant canary")
	require.NotContains(t, strings.ToUpper(string(out)), "NOT DETERMINISTIC")
}
