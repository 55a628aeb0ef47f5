package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim/scenario"
)

func TestDyingWorkerIsAFailureWithItsPanic(t *testing.T) {
	code, stdout, stderr := simrun(t, "--seeds", "1-3", "--target", "panicking")
	require.Equal(t, exitFailed, code, "%s%s", stdout, stderr)
	require.Contains(t, stdout, "3 of 3 seeds: 0 passed, 3 failed, 0 inconclusive")
	require.Contains(t, stdout, "Completed broken in 3")
	for seed := 1; seed <= 3; seed++ {
		require.Contains(t, stdout, fmt.Sprintf("the worker process died in seed %d: panic: the panicking target panics\n", seed))
		require.Contains(t, stdout, fmt.Sprintf("Reproduce with: simrun --seed %d --target panicking\n", seed))
	}
	require.Contains(t, stdout, "damagedTarget.Start", "the stack")

	code, stdout, stderr = simrun(t, "--seed", "1", "--target", "panicking", "--json")
	require.Equal(t, exitFailed, code, "%s%s", stdout, stderr)
	require.Contains(t, stdout, `"guarantee":"Completed","text":"the worker process died in seed 1: panic: the panicking target panics`)
}

// What a run is a function of, and its decisions so far, are there if its process dies.
func TestARunWhoseProcessDiesLeavesAFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "out")
	code, stdout, stderr := simrun(t, "--seed", "3", "--target", "panicking", "--out", folder)
	require.Equal(t, exitFailed, code, "%s%s", stdout, stderr)
	folder = filepath.Join(folder, "panicking-minute-3")
	require.Contains(t, stdout, "artefacts in "+folder)
	require.Contains(t, content(t, folder, "report.txt"), "panic: the panicking target panics")
	require.NotEmpty(t, content(t, folder, "plan.txt"))
	recorded, err := scenario.Load(folder)
	require.NoError(t, err)
	require.Equal(t, uint64(3), recorded.Spec.Seed)
	require.Empty(t, recorded.Hash)
	require.Greater(t, len(recorded.Tape), 100, "the decisions of the time before the server is started")

	code, stdout, stderr = simrun(t, "replay", folder)
	require.Equal(t, exitFailed, code, "%s%s", stdout, stderr)
	require.Contains(t, stdout, "panic: the panicking target panics")
	require.Contains(t, stdout, "the process died after the same decisions as when the run was recorded")

	code, stdout, stderr = simrun(t, "check", folder)
	requireRefused(t, "history.jsonl", code, stdout, stderr)
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
			for _, dir := range []string{"/dev/shm", os.TempDir()} {
				left, err := filepath.Glob(filepath.Join(dir, fmt.Sprintf("watchsim-%d-*", c.Process.Pid)))
				require.NoError(t, err)
				require.Empty(t, left, "workers' folders")
			}
		})
	}
}
