//go:build race && !watchsim

package simtest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDataRacesAreFound runs tests as `go test -race` runs those of users. The second has none,
// although its programs, API servers and etcd share a process.
func TestDataRacesAreFound(t *testing.T) {
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(filepath.Join("testdata", "simtest", "TestRacy"))) })
	for _, seed := range []string{"-simtest.seed=1", "-simtest.seed=2"} {
		out, failed := outside(t, ".", "TestRacy", seed)
		require.True(t, failed, out)
		require.Regexp(t, `a data race: (Read|Write) at 0x[0-9a-f]+ by goroutine \d+:\n +bytes\.\(\*Buffer\)`, out)
		require.Contains(t, out, "go test -race -run '^TestRacy$' "+seed)
		require.NotContains(t, out, "an assertion has failed on the test outside")
		out, failed = outside(t, ".", "TestCustomResources", seed)
		require.False(t, failed, out)
	}
}
