package target_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/target"
)

func TestEveryReleaseHasItsFiles(t *testing.T) {
	for _, release := range target.Releases() {
		require.FileExists(t, filepath.Join(release.Dir("../.."), "go.mod"))
		require.DirExists(t, filepath.Join(release.Dir("../.."), target.ReleaseWorker))
		found, known := target.FindRelease(release.Name)
		require.True(t, known)
		require.Equal(t, release, found)
	}
	_, known := target.FindRelease("kubernetes-0.1")
	require.False(t, known)
}
