package simtest

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKeepOverwritesNothing keeps two failures of one seed, the first one twice.
func TestKeepOverwritesNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	first := report{Seed: 7, Plan: planHeader + " v1\nat 1s compaction revision=current\n"}
	second := report{Seed: 7, Plan: planHeader + " v1\n"}
	var paths []string
	for _, r := range []report{first, second, first} {
		path, err := keep("TestIt", r)
		require.NoError(t, err)
		paths = append(paths, path)
	}
	require.Equal(t, []string{"testdata/simtest/TestIt/seed-7", "testdata/simtest/TestIt/seed-7.2", "testdata/simtest/TestIt/seed-7"}, paths)
	content, err := os.ReadFile(paths[0])
	require.NoError(t, err)
	require.Contains(t, string(content), first.Plan)

	jobs, err := kept("TestIt")
	require.NoError(t, err)
	require.Len(t, jobs, 2)
	for i, one := range jobs {
		require.EqualValues(t, 7, one.Seed)
		require.Equal(t, paths[i], one.Kept)
		require.True(t, one.HasPlan)
		path, err := keep("TestIt", report{Seed: 7, Kept: one.Kept})
		require.NoError(t, err)
		require.Equal(t, one.Kept, path)
	}
}

func TestKeepsWhatWasDrawn(t *testing.T) {
	t.Chdir(t.TempDir())
	drawn := map[string][]uint64{"sizes": {1, 1 << 63}, `a "name" (2)`: nil}
	_, err := keep("TestIt", report{Seed: 7, Drawn: drawn, Log: []string{"drawn sizes: [1]"}})
	require.NoError(t, err)
	jobs, err := kept("TestIt")
	require.NoError(t, err)
	require.Equal(t, drawn, jobs[0].Drawn)

	for content, want := range map[string]string{
		"# watchsim drawn sizes [1]\n":     `expected a name in quotes after "# watchsim drawn "`,
		"# watchsim drawn \"sizes\" [x]\n": `expected hexadecimal numbers of 64 bits after # watchsim drawn "sizes", found "x"`,
	} {
		_, err := drawnOf(content)
		require.ErrorContains(t, err, want)
	}
}
