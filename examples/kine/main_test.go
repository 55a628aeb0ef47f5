package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each seed is one run, and the findings of docs/findings and docs/storage.md are found.
func TestTargets(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "mysim")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	run := func(arguments ...string) (string, int) {
		command := exec.Command(binary, append(arguments, "--scenario", "minute", "--out", t.TempDir())...)
		out, _ := command.CombinedOutput()
		return strings.Join(strings.Fields(string(out)), " "), command.ProcessState.ExitCode()
	}
	text, code := run("verify", "--seeds", "3-6")
	require.Zero(t, code, text)

	text, code = run("--seeds", "1-6", "--faults", "none")
	require.Equal(t, 1, code, text)
	require.Regexp(t, `create of \S+ \(operation \d+\) was acknowledged with RV \d+, but etcd committed it at RV`, text, "finding 13")
	text, code = run("--seed", "165", "--faults", "none")
	require.Equal(t, 1, code, text)
	require.Regexp(t, `list of all objects \(operation 13\) is not the state at RV 5: red/d \(RV 6\) does not belong`, text, "finding 14")
	text, code = run("--seed", "454", "--faults", "none")
	require.Equal(t, 1, code, text)
	require.Regexp(t, `list of all objects \(operation 26\) is not the state at RV 5: blue/a \(RV 5\) is missing, blue/b \(RV 4\) does not belong`, text, "finding 15")
}
