package simrun

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// explored returns the output of exploring the smallest scenario with these arguments.
func explored(t *testing.T, want int, arguments ...string) string {
	t.Helper()
	return simrunExits(t, want, append([]string{"explore", "--scenario", "slow-eviction", "--workers", "1"}, arguments...)...)
}

func TestExploreSaysWhatItHasExhausted(t *testing.T) {
	stdout := explored(t, exitPassed, "--bound", "0")
	require.Contains(t, stdout, "1 runs: 0 failed, 0 inconclusive")
	require.Contains(t, stdout, "1 distinct shapes")
	require.Contains(t, stdout, "exhausted: every schedule with at most 0 deviations")
	require.NotContains(t, stdout, " 0 lie beyond the bound", "there is something to depart from")

	stdout = explored(t, exitInconclusive, "--bound", "1", "--runs", "3")
	require.Contains(t, stdout, "3 runs: 0 failed")
	require.Contains(t, stdout, "ended: the limit of runs was hit")
	require.Contains(t, stdout, "not exhausted")
	require.NotContains(t, stdout, "  exhausted")
}

func TestExploreLeavesFailuresThatReplay(t *testing.T) {
	for _, strategy := range []string{"exhaustive", "pct", "random"} {
		t.Run(strategy, func(t *testing.T) {
			out := t.TempDir()
			stdout := explored(t, exitFailed, "--target", "forgetful", "--strategy", strategy, "--out", out)
			require.Contains(t, stdout, "first failure in run 1\n")
			require.Contains(t, stdout, "ended: the limit of failures was hit")
			require.NotContains(t, stdout, "  exhausted")
			folders, err := filepath.Glob(filepath.Join(out, "*-explored-1"))
			require.NoError(t, err)
			require.Len(t, folders, 1)
			stdout = simrunExits(t, exitFailed, "replay", folders[0])
			require.Contains(t, stdout, "the hash agrees")
		})
	}
}

func TestExploreIsTheSameEachTimeAndWithAnyNumberOfWorkers(t *testing.T) {
	shapes := regexp.MustCompile(`(?m)^  \d+ (distinct shapes|new shapes|states).*$`)
	for strategy, want := range map[string]int{"exhaustive": exitInconclusive, "pct": exitPassed, "branch": exitPassed} {
		arguments := []string{"--strategy", strategy, "--runs", "8"}
		once := explored(t, want, arguments...)
		again := explored(t, want, append(arguments, "--workers", "2")...)
		require.NotEmpty(t, shapes.FindAllString(once, -1), once)
		require.Equal(t, shapes.FindAllString(once, -1), shapes.FindAllString(again, -1))
	}
}

// TestExploreSkipsNothingThatMatters compares a search that goes on from no state twice with
// one that does so always. The first deviations are made before anything was decided.
func TestExploreSkipsNothingThatMatters(t *testing.T) {
	found := regexp.MustCompile(`(?m)^  (\d+ distinct shapes|exhausted: .*)`)
	window := []string{"--bound", "1", "--delays", "5ms", "--to", "2006ms"}
	skipping := explored(t, exitPassed, window...)
	require.Contains(t, skipping, "went on as one before")
	require.Contains(t, skipping, " 0 had another")
	every := explored(t, exitPassed, append(window, "--skip-known=false")...)
	require.NotContains(t, every, "went on as one before")
	require.Len(t, found.FindAllString(every, -1), 2)
	require.Equal(t, found.FindAllString(every, -1), found.FindAllString(skipping, -1))
}
