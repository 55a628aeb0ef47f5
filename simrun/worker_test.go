package simrun

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/search/swarm"
	"github.com/watchsim/watchsim/sim/simdisk"
)

// A run that ends its process, or cannot continue, is one run with a verdict and a folder, and does
// not affect other runs.
func TestARunThatMisbehavesIsOneRun(t *testing.T) {
	_, sound, _ := simrun(t, strings.Fields("--seeds 1-6 --scenario calm --target behaving --json")...)
	for _, row := range []struct {
		target, says string
		code         int
	}{
		{"panicking-sometimes", "it panicked, with exit status 2: panic: the panicking target panics\n", exitFailed},
		{"exiting", "it ended its process with exit status 0", exitFailed},
		{"large", "it needed more than 6144 MiB of memory beside what it began with", exitFailed},
		{"filling", simdisk.FullReason, exitInconclusive},
	} {
		t.Run(row.target, func(t *testing.T) {
			out := t.TempDir()
			arguments := []string{"--seeds", "1-6", "--scenario", "calm", "--target", row.target, "--out", out, "--keep-all", "--json"}
			code, stdout, stderr := simrun(t, arguments...)
			require.Equal(t, row.code, code, "%s%s", stdout, stderr)
			bad := 0
			for _, v := range verdicts(t, stdout) {
				folder := fmt.Sprintf("%s-calm-%d", row.target, v.Seed)
				_, err := scenario.Load(filepath.Join(out, folder))
				require.NoError(t, err)
				if v.Outcome == linearizability.Passed {
					require.Contains(t, sound, v.Hash, "seed %d as where no run misbehaves", v.Seed)
					continue
				}
				bad++
				require.Contains(t, stderr, row.says)
				require.Contains(t, content(t, out, folder, "report.txt"), row.says)
				require.NotEmpty(t, content(t, out, folder, "verdict.json"))
			}
			require.Greater(t, bad, 0)
			require.Less(t, bad, 6, "some are to pass")
			require.Len(t, verdicts(t, stdout), 6)
		})
	}
}

// A process killed from outside is no verdict: the seed is retried, and if that does not help it
// has none. A campaign does not keep it, but retries it later.
func TestAProcessThatIsKilledFromOutsideIsNoVerdict(t *testing.T) {
	const why = "the process of the run was ended from outside: seed "
	flags := strings.Fields("--seeds 1-6 --scenario calm --workers 1 --json")
	_, sound, _ := simrun(t, append(flags, "--target", "behaving")...)
	for _, command := range []string{"run", "campaign"} {
		t.Run(command, func(t *testing.T) {
			t.Setenv(killMarker, filepath.Join(t.TempDir(), "killed"))
			run := func(target, out string) (int, string, string) {
				arguments := append(slices.Clone(flags), "--target", target, "--out", out)
				if command == "campaign" {
					arguments = append([]string{command}, arguments...)
				}
				return simrun(t, arguments...)
			}
			out := t.TempDir()
			code, stdout, stderr := run("killed-once", out)
			require.Equal(t, exitPassed, code, "%s%s", stdout, stderr)
			require.Contains(t, stderr, why)
			require.Contains(t, stderr, "it was killed with SIGKILL, by somebody or by a system without memory; it is run again")
			require.Len(t, verdicts(t, stdout), 6)
			for _, v := range verdicts(t, stdout) {
				require.True(t, strings.Contains(sound, v.Hash), "seed %d is another run", v.Seed)
			}

			out = t.TempDir()
			code, stdout, stderr = run("killed", out)
			require.Equal(t, exitInconclusive, code, "%s%s", stdout, stderr)
			require.Contains(t, stderr, "(3 times, so that the seed has no verdict)")
			done := len(verdicts(t, stdout))
			require.Greater(t, done, 0)
			require.Less(t, done, 6)
			if command == "campaign" {
				_, stdout, stderr = run("killed", out)
				require.Contains(t, stderr, fmt.Sprintf("6 seeds, %d of them done already", done))
				require.Empty(t, verdicts(t, stdout))
			}
		})
	}
}

// verdicts returns the verdicts that --json has printed.
func verdicts(t *testing.T, stdout string) (all []scenario.Verdict) {
	t.Helper()
	for line := range strings.Lines(stdout) {
		var v scenario.Verdict
		require.NoError(t, json.Unmarshal([]byte(line), &v))
		all = append(all, v)
	}
	return all
}

func TestARunThatTakesTooLongIsOneRun(t *testing.T) {
	for target, says := range map[string]string{
		"spinning": "it took longer than 2s of processor time",
		"blocking": "it took longer than 10s on the clock",
	} {
		t.Run(target, func(t *testing.T) {
			config := determinism(t, "calm", target, 2, 3)
			config.Out = t.TempDir()
			config.Limits.Run.Processor = 2 * time.Second
			if target == "blocking" {
				config.Limits.Run.Clock = 10 * time.Second
			}
			outcomes := map[linearizability.Outcome]int{}
			require.NoError(t, swarm.Run(t.Context(), config, func(outcome swarm.Outcome) error {
				outcomes[outcome.Verdict.Outcome]++
				if outcome.Verdict.Outcome == linearizability.Failed {
					require.Contains(t, outcome.Report, says)
					recorded, err := scenario.Load(outcome.Verdict.Folder)
					require.NoError(t, err)
					require.Greater(t, len(recorded.Tape), 100)
				}
				return outcome.Err
			}))
			require.Greater(t, outcomes[linearizability.Failed], 0)
			require.Greater(t, outcomes[linearizability.Passed], 0)
		})
	}
}

// A template that does not boot is the failure of each of its runs.
func TestATemplateThatDoesNotBootFailsItsRuns(t *testing.T) {
	out := t.TempDir()
	code, stdout, stderr := simrun(t, "--seeds", "1-2", "--scenario", "minute", "--target", "bootless", "--out", out)
	require.Equal(t, exitFailed, code, "%s%s", stdout, stderr)
	require.Contains(t, stdout, "2 of 2 seeds: 0 passed, 2 failed, 0 inconclusive")
	require.Contains(t, stderr, "the worker of this run ended before it: seed 1: exit status 2; panic: the bootless target panics")
	require.Contains(t, content(t, out, "bootless-minute-1/report.txt"), "panic: the bootless target panics")
	_, err := scenario.Load(filepath.Join(out, "bootless-minute-1"))
	require.NoError(t, err)
}

// If a run's process dies, its spec and its decisions so far are kept, also if it is that of a worker.
func TestARunWhoseProcessDiesLeavesAFolder(t *testing.T) {
	for _, flags := range [][]string{{"--seed", "3"}, {"--seeds", "2-3", "--no-fork"}} {
		out := t.TempDir()
		stdout := simrunExits(t, exitFailed, append(flags, "--target", "panicking", "--scenario", "calm", "--out", out)...)
		folder := filepath.Join(out, "panicking-calm-3")
		require.Contains(t, stdout, "artifacts in "+folder)
		require.Contains(t, content(t, folder, "report.txt"), "panic: the panicking target panics")
		require.NotEmpty(t, content(t, folder, "plan.txt"))
		recorded, err := scenario.Load(folder)
		require.NoError(t, err)
		require.Equal(t, uint64(3), recorded.Spec.Seed)
		require.Empty(t, recorded.Hash)
		require.Greater(t, len(recorded.Tape), 100, "the decisions of the time before the panic")

		stdout = simrunExits(t, exitFailed, "replay", folder)
		require.Contains(t, stdout, "panic: the panicking target panics")
		require.Contains(t, stdout, "the process died after the same decisions as when the run was recorded")
		refused(t, "history.jsonl", "check", folder)
	}
}

func TestInterruptGivesWhatIsKnown(t *testing.T) {
	for name, row := range map[string]struct {
		arguments string
		code      int
	}{
		"nothing failed":   {"--scenario calm", exitInconclusive},
		"something failed": {"--scenario calm --target forgetful", exitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			c, _, stderr := command(t, append(strings.Fields(row.arguments), "--seeds", "1-100000", "--json")...)
			c.Stdout = nil
			stdout, err := c.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, c.Start())
			lines := bufio.NewReader(stdout)
			_, err = lines.ReadBytes('\n') // the first verdict
			require.NoError(t, err)
			require.NoError(t, c.Process.Signal(os.Interrupt))
			var rest bytes.Buffer
			_, err = lines.WriteTo(&rest)
			require.NoError(t, err)

			require.Equal(t, row.code, exitCode(t, c.Wait()), stderr)
			known := 1 + strings.Count(rest.String(), "\n")
			require.Contains(t, stderr.String(), fmt.Sprintf("%d of 100000 seeds: ", known))
			require.Contains(t, stderr.String(), "interrupted: the seeds that are missing were not run")
		})
	}
}
