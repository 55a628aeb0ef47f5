package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// The storage that reads etcd shows no bug of its own, and the careless one's violations are named.
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
	// In one seed of twelve a compaction takes the previous value of the next event: finding 3.
	text, code := run("--seeds", "1-10", "--scenario", "minute")
	require.Contains(t, text, "10 of 10 seeds: ")
	for _, broken := range regexp.MustCompile(`(\S+) broken in`).FindAllStringSubmatch(text, -1) {
		require.Equal(t, "InternalError", broken[1], text)
	}
	require.Contains(t, []int{0, 1}, code, text)
	text, code = run("--seeds", "1-10", "--scenario", "pair", "--target", "careless")
	require.Equal(t, 1, code, text)
	require.Contains(t, text, "Linearizable")
}
