package simrun

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/search/selfbuild"
)

// canarySeeds catch the canary, most of them alone. A harness that needs more misses bugs.
const canarySeeds = "1-4"

// damaged runs simrun with the canary, which must fail, and returns what it prints.
func damaged(t *testing.T, arguments ...string) string {
	t.Helper()
	canary, err := mutant.Find("canary")
	require.NoError(t, err)
	binary, err := selfbuild.Build(nil, nil, canary)
	require.NoError(t, err)
	command := exec.Command(binary, append(arguments, "--mutant", canary.Name)...)
	command.Dir = t.TempDir()
	out, err := command.Output()
	require.Equal(t, exitFailed, exitCode(t, err), "the canary is not caught:\n%s", out)
	return string(out)
}

// The harness that passes Kubernetes' cacher also catches a damaged one.
func TestCanaryIsCaught(t *testing.T) {
	code, stdout, stderr := simrun(t, "--seeds", canarySeeds, "--target", "kubernetes")
	require.Equal(t, exitPassed, code, "the cacher is not damaged:\n%s%s", stdout, stderr)

	out := damaged(t, "--seeds", canarySeeds)
	require.Contains(t, out, "Reliable broken in ")
	require.Contains(t, out, "--mutant canary")
	require.NotContains(t, strings.ToUpper(out), "NOT DETERMINISTIC")
}

// A reader who runs the commands of the documentation gets the reports that it shows.
func TestTheDocumentationShowsWhatTheCanaryBreaks(t *testing.T) {
	shown := func(path, pattern string) (seed, report string) {
		page, err := os.ReadFile(path)
		require.NoError(t, err)
		parts := regexp.MustCompile(pattern).FindStringSubmatch(string(page))
		require.Len(t, parts, 3, "%s shows no run of the canary", path)
		return parts[1], parts[2]
	}
	wall := regexp.MustCompile(`simulated seconds in [0-9]+ ms`)

	seed, report := shown("../README.md", "(?s)```\n\\$ bin/simrun --seed ([0-9]+) --mutant canary\n(.*?)```")
	found := strings.TrimPrefix(damaged(t, "--seed", seed), "\n")
	require.Equal(t, wall.ReplaceAllString(report, "-"), wall.ReplaceAllString(found, "-"), "README.md shows another report")

	seed, report = shown("../docs/debugging-stale-reads.md", "(?s)simrun --seed ([0-9]+) --mutant canary\n.*?```\n(.*?)```")
	require.Contains(t, damaged(t, "--seed", seed, "-v"), strings.TrimSuffix(report, "\n"), "docs/debugging-stale-reads.md shows another violation")
}
