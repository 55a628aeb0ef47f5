package simrun

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What cannot be built does not keep the others from being compared, and is not passed over.
func TestCompareLeavesOutWhatCannotBeBuilt(t *testing.T) {
	bad := "go.etcd.io/etcd/server/v3=../nothing"
	code, stdout, stderr := simrun(t, "compare", "--seeds", "1-2", "--target", "kubernetes", "--use", bad, "--use", "none", "--use", "none")
	require.Equal(t, exitUsage, code, stderr)
	require.Contains(t, stderr, bad+" is left out: ")
	require.Contains(t, stdout, "no seed has another verdict in one than in another")

	code, _, stderr = simrun(t, "compare", "--seeds", "1-2", "--use", bad, "--use", "none")
	require.Equal(t, exitUsage, code, stderr)
	require.Contains(t, stderr, "expected 2 variants or more that can be built, found 1")
	require.NotContains(t, stderr, "seeds run", "nothing ran in vain")
}
