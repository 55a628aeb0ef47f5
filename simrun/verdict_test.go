package simrun

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fields are those that --json promises.
var fields = []string{
	"seed", "target", "verdict", "hash", "decisions", "simulated_seconds", "wall_seconds", "check_seconds",
	"operations", "watch_events", "faults", "violations",
}

func TestEachVerdictHasItsExitCode(t *testing.T) {
	for verdict, row := range map[string]struct {
		arguments string
		code      int
		says      []string
	}{
		"passed":       {"--seed 7", exitPassed, []string{"PASSED  seed 7", "artifacts in "}},
		"failed":       {"--seed 7 --target forgetful", exitFailed, []string{"again: simrun --seed 7 --target forgetful\n", "artifacts in "}},
		"inconclusive": {"--seed 7 --operations 1", exitInconclusive, []string{"INCONCLUSIVE  seed 7"}},
	} {
		t.Run(verdict, func(t *testing.T) {
			arguments := strings.Fields(row.arguments)
			code, stdout, stderr := simrun(t, arguments...)
			require.Equal(t, row.code, code, "%s%s", stdout, stderr)
			for _, says := range row.says {
				require.Contains(t, stdout, says)
			}
			require.Contains(t, stderr, "limits ", "the banner")

			code, stdout, stderr = simrun(t, append(arguments, "--json")...)
			require.Equal(t, row.code, code, "%s%s", stdout, stderr)
			require.Equal(t, 1, strings.Count(stdout, "\n"), "one object on standard output, the rest on standard error")
			var object map[string]any
			require.NoError(t, json.Unmarshal([]byte(stdout), &object))
			for _, field := range fields {
				require.Contains(t, object, field)
			}
			require.Equal(t, verdict, object["verdict"])
			require.EqualValues(t, 7, object["seed"])
			require.Regexp(t, "^[0-9a-f]{16}$", object["hash"])
			require.Greater(t, object["simulated_seconds"], 59.0)
			if verdict != "failed" {
				require.Empty(t, object["violations"])
				return
			}
			for _, violation := range object["violations"].([]any) {
				require.NotEmpty(t, violation.(map[string]any)["guarantee"])
				require.NotEmpty(t, violation.(map[string]any)["text"])
			}
		})
	}
}

// A failure because etcd's quota is used up is not the caches' fault.
func TestALackOfSpaceIsAFault(t *testing.T) {
	stdout := simrunExits(t, exitPassed, "--seed", "7", "--set", "quota=5", "--set", "kinds=none", "-v")
	require.Regexp(t, `[1-9][0-9]*\s+faults`, stdout)
}

func TestRangeCountsItsVerdicts(t *testing.T) {
	code, stdout, stderr := simrun(t, "--seeds", "1-4", "--scenario", "calm", "--target", "forgetful", "--json")
	require.Equal(t, exitFailed, code, stderr)
	require.Equal(t, 4, strings.Count(stdout, `"verdict":"failed"`), stdout)
	require.Contains(t, stderr, "4 of 4 seeds: 0 passed, 4 failed, 0 inconclusive")
	require.Contains(t, stderr, "Reliable broken in ")
}

// A run of a range keeps artifacts only if it fails.
func TestRangeKeepsTheArtifactsOfFailures(t *testing.T) {
	for target, kept := range map[string]int{"forgetful": 2, targets[0].Name: 0} {
		c, _, _ := command(t, "--seeds", "7-8", "--scenario", "calm", "--target", target)
		_ = c.Run()
		folders, err := filepath.Glob(filepath.Join(c.Dir, "out", "*", "tape.bin.zst"))
		require.NoError(t, err)
		require.Len(t, folders, kept, target)
	}
}
