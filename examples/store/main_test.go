package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The store passes under all faults, each seed is one run, and both bugs are found.
func TestTargets(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "mysim")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	run := func(arguments ...string) (string, int) {
		command := exec.Command(binary, append(arguments, "--out", t.TempDir())...)
		out, _ := command.CombinedOutput()
		return string(out), command.ProcessState.ExitCode()
	}
	text, code := run("--seeds", "1-20", "--scenario", "minute")
	require.Zero(t, code, text)
	require.Contains(t, text, "20 of 20 seeds: 20 passed")
	text, code = run("verify", "--seeds", "1-2", "--scenario", "pair")
	require.Zero(t, code, text)

	text, code = run("--seeds", "1-10", "--scenario", "minute", "--target", "lazy")
	require.Equal(t, 1, code, text)
	require.Contains(t, text, "was acknowledged with RV")
	text, code = run("--seeds", "1-8", "--scenario", "pair", "--target", "hasty",
		"--faults", "stream-stall,stream-throttle", "--set", "max-count=14")
	require.Equal(t, 1, code, text)
	require.Contains(t, text, "is not the state at RV")
}
