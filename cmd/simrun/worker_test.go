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
