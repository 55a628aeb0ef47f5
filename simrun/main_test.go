package simrun

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim"
)

// asSimrun makes the test binary behave as simrun, so that the tests need no other binary. Workers
// inherit it.
const asSimrun = "WATCHSIM_TEST_AS_SIMRUN"

func TestMain(m *testing.M) {
	addDamagedTargets()
	// What `go test -fuzz` starts inherits the variable, too, but is a test.
	if os.Getenv(asSimrun) != "" && !slices.Contains(os.Args, "-test.fuzzworker") {
		Main()
	}
	if err := sim.Available(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv(asSimrun, "1")
	os.Exit(m.Run())
}

// itself is the path of the test binary.
func itself(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}

// command is simrun, ready to start in a folder of its own.
func command(t *testing.T, arguments ...string) (c *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	c = exec.Command(itself(t), arguments...)
	c.Dir, c.Stdout, c.Stderr = t.TempDir(), stdout, stderr
	return c, stdout, stderr
}

// simrun runs simrun and returns its exit code and output.
func simrun(t *testing.T, arguments ...string) (code int, stdout, stderr string) {
	t.Helper()
	c, out, notes := command(t, arguments...)
	code = exitCode(t, c.Run())
	return code, out.String(), notes.String()
}

// simrunExits runs simrun, which must exit with a code, and returns its standard output.
func simrunExits(t *testing.T, want int, arguments ...string) string {
	t.Helper()
	code, stdout, stderr := simrun(t, arguments...)
	require.Equal(t, want, code, "%s%s", stdout, stderr)
	return stdout
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	if exited, is := errors.AsType[*exec.ExitError](err); is {
		return exited.ExitCode()
	}
	require.NoError(t, err)
	return 0
}
