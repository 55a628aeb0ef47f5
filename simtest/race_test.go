//go:build race && !watchsim

package simtest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDataRacesAreFound runs tests like users' with `go test -race`. The second has no race,
// although its programs, API servers and etcd share a process.
func TestDataRacesAreFound(t *testing.T) {
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(filepath.Join("testdata", "simtest", "TestRacy"))) })
	for _, seed := range []string{"-simtest.seed=1", "-simtest.seed=2"} {
		out := fails(t, ".", "TestRacy", seed)
		require.Regexp(t, `a data race: (Read|Write) at 0x[0-9a-f]+ by goroutine \d+:\n +bytes\.\(\*Buffer\)`, out)
		require.Contains(t, out, "go test -race -run '^TestRacy$' "+seed)
		require.NotContains(t, out, "an assertion has failed on the test outside")
		passes(t, ".", "TestCustomResources", seed)
	}
}

// A failure is the same run with and without the race detector, although the compiler then compiles deferred calls differently.
func TestTheRaceDetectorChangesNoRun(t *testing.T) {
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(filepath.Join("testdata", "simtest", "TestCounter"))) })
	failed := regexp.MustCompile(`seed (\d+) failed .*(hash [0-9a-f]{16})`)
	for first, found := 1, 0; found < 3; found++ {
		command := exec.Command("go", "test", "-count=1", "-v", "-run=^TestCounter$", ".", fmt.Sprintf("-simtest.seeds=%d-%d", first, first+99), "-simtest.shrink=0")
		command.Env = append(os.Environ(), asOutside+"=1", lose+"=1", "CGO_ENABLED=0")
		out, err := command.CombinedOutput()
		require.Error(t, err, "expected one of a hundred seeds to fail\n%s", out)
		without := failed.FindStringSubmatch(string(out))
		require.NotNil(t, without, string(out))
		with, _ := outside(t, ".", "TestCounter", "-simtest.seed="+without[1], "-simtest.shrink=0")
		require.Contains(t, with, without[2])
		require.NoError(t, os.RemoveAll(filepath.Join("testdata", "simtest", "TestCounter"))) // it would run first
		_, err = fmt.Sscan(without[1], &first)
		require.NoError(t, err)
		first++
	}
}
