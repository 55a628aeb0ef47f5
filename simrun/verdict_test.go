package simrun

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/traces/judge"
)

// fields are those that --json promises.
var fields = []string{
	"seed", "target", "verdict", "hash", "decisions", "simulated_seconds", "wall_seconds", "check_seconds",
	"operations", "watch_events", "faults", "violations",
}

// A run has its verdict and exit code however it is printed, and again when its history is checked
// and its tape replayed.
func TestEachVerdictHasItsExitCode(t *testing.T) {
	for verdict, row := range map[string]struct {
		arguments string
		code      int
		says      string
	}{
		"passed":       {"--seed 7", exitPassed, "PASSED  seed 7"},
		"failed":       {"--seed 7 --target forgetful", exitFailed, "again: simrun --seed 7 --target forgetful\n"},
		"inconclusive": {"--seed 7 --operations 1", exitInconclusive, "INCONCLUSIVE  seed 7"},
	} {
		t.Run(verdict, func(t *testing.T) {
			arguments := strings.Fields(row.arguments)
			c, printed, stderr := command(t, append(arguments, "-v")...)
			require.Equal(t, row.code, exitCode(t, c.Run()), "%s%s", printed, stderr)
			require.Contains(t, printed.String(), row.says)
			require.Contains(t, stderr.String(), "limits ", "the banner")
			for line := range strings.Lines(printed.String()) {
				if !strings.Contains(line, "artifacts in") && !strings.Contains(line, "hash") {
					require.LessOrEqual(t, len(strings.TrimRight(line, "\n")), 100, line)
				}
			}
			folders, err := filepath.Glob(filepath.Join(c.Dir, "out", "*"))
			require.NoError(t, err)
			require.Len(t, folders, 1)
			require.Contains(t, printed.String(), "artifacts in "+filepath.Join("out", filepath.Base(folders[0])))

			stdout := simrunExits(t, row.code, append(arguments, "--json")...)
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

			run, again := verdictIn(t, folders[0]), judge.Verdict{}
			require.NoError(t, json.Unmarshal([]byte(simrunExits(t, row.code, "check", "--json", folders[0])), &again))
			require.Equal(t, run.Outcome, again.Outcome)
			require.Equal(t, verdict == "failed", len(run.Violations) > 0)
			require.Len(t, again.Violations, len(run.Violations))
			for i, violation := range run.Violations {
				require.NotEmpty(t, violation.Guarantee)
				require.Equal(t, violation.Text, again.Violations[i].Text)
				if len(violation.Explanation) > 0 {
					require.Equal(t, violation.Explanation, again.Violations[i].Explanation)
					require.Contains(t, printed.String(), "\n    "+violation.Explanation[0][:20])
				}
			}

			stdout = simrunExits(t, row.code, "replay", folders[0])
			require.Contains(t, stdout, strings.ToUpper(verdict)+"  seed 7")
			require.Contains(t, stdout, "the hash agrees: ")
			for _, file := range []string{"tape.bin.zst", "plan.txt", "history.jsonl.zst", "decisions.txt.zst", "run.json"} {
				require.Equal(t, content(t, folders[0], file), content(t, folders[0], "replay", file), file)
			}
		})
	}
}

// A failure because etcd's quota is used up is not the caches' fault.
func TestALackOfSpaceIsAFault(t *testing.T) {
	stdout := simrunExits(t, exitPassed, "--seed", "7", "--set", "quota=5", "--set", "kinds=none", "-v")
	require.Regexp(t, `[1-9][0-9]*\s+faults`, stdout)
}

// A run of a range keeps artifacts only if it fails.
func TestRangeCountsItsVerdictsAndKeepsFailures(t *testing.T) {
	for target, row := range map[string]struct {
		kept int
		says string
	}{
		"forgetful":     {2, "2 of 2 seeds: 0 passed, 2 failed, 0 inconclusive"},
		targets[0].Name: {0, "2 of 2 seeds: 2 passed, 0 failed, 0 inconclusive"},
	} {
		c, stdout, stderr := command(t, "--seeds", "7-8", "--scenario", "calm", "--target", target, "--json")
		_ = c.Run()
		require.Equal(t, row.kept, strings.Count(stdout.String(), `"verdict":"failed"`), stdout)
		require.Contains(t, stderr.String(), row.says)
		require.Equal(t, row.kept > 0, strings.Contains(stderr.String(), "Reliable broken in "))
		folders, err := filepath.Glob(filepath.Join(c.Dir, "out", "*", "tape.bin.zst"))
		require.NoError(t, err)
		require.Len(t, folders, row.kept, target)
	}
}
