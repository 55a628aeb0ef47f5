package released_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/released"
)

func TestEveryReleaseHasItsFiles(t *testing.T) {
	for _, release := range released.All() {
		require.FileExists(t, filepath.Join(release.Dir("../.."), "go.mod"))
		require.DirExists(t, filepath.Join(release.Dir("../.."), released.Worker))
		found, known := released.Find(release.Name)
		require.True(t, known)
		require.Equal(t, release, found)
	}
	_, known := released.Find("kubernetes-0.1")
	require.False(t, known)
}
