package overlay

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// project is the folder of the project's go.mod.
const project = "../.."

func TestEveryAnchorOccursOnceInTheInstalledGo(t *testing.T) {
	toolchain, err := Installed()
	require.NoError(t, err)
	build, err := Write(toolchain, project, t.TempDir())
	require.NoError(t, err)

	text, err := os.ReadFile(build.Overlay)
	require.NoError(t, err)
	var listing struct{ Replace map[string]string }
	require.NoError(t, json.Unmarshal(text, &listing))
	require.Len(t, listing.Replace, len(Files()), "files of Go itself and no others")
	require.Empty(t, build.ModFile)
	for original, copied := range listing.Replace {
		require.FileExists(t, copied, original)
	}
}

func TestWritingTwiceChangesNothing(t *testing.T) {
	toolchain, err := Installed()
	require.NoError(t, err)
	dir := t.TempDir()
	build, err := Write(toolchain, project, dir)
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	before := map[string]os.FileInfo{}
	for _, file := range files {
		before[file], err = os.Stat(file)
		require.NoError(t, err)
	}
	again, err := Write(toolchain, project, dir)
	require.NoError(t, err)
	require.Equal(t, build, again)
	for file, info := range before {
		now, err := os.Stat(file)
		require.NoError(t, err)
		require.True(t, os.SameFile(info, now), "%s was written again", file)
	}
}

func TestOtherReleasesAreRefused(t *testing.T) {
	for version, supported := range map[string]bool{
		"go1.26": true, "go1.26.0": true, "go1.26.99": true,
		"go1.25.4": false, "go1.27rc1": false, "go1.260": false, "devel go1.27-abc": false,
	} {
		err := Toolchain{Version: version, Root: "/nowhere"}.Supported()
		if supported {
			require.NoError(t, err, version)
			continue
		}
		require.ErrorIs(t, err, ErrUnsupportedGo, version)
		require.ErrorContains(t, err, "found "+version)
		_, err = Write(Toolchain{Version: version, Root: "/nowhere"}, project, t.TempDir())
		require.ErrorIs(t, err, ErrUnsupportedGo, version)
	}
}

func TestAnchorsMustOccurExactlyOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file.go")
	require.NoError(t, os.WriteFile(file, []byte("once\ntwice\ntwice\n"), 0o600))

	contents, err := apply("go1.26.8", []edit{replace(file, "once", "ONCE", ""), replace(file, "ONCE", "Once", "")})
	require.NoError(t, err)
	require.Equal(t, "Once\ntwice\ntwice\n", contents[file])

	for anchor, count := range map[string]string{"twice": "2 times", "never": "0 times"} {
		_, err := apply("go1.26.8", []edit{replace(file, anchor, "", "")})
		require.ErrorIs(t, err, ErrAnchor)
		for _, part := range []string{"go1.26.8", file, count, anchor} {
			require.ErrorContains(t, err, part)
		}
	}
	_, err = apply("go1.26.8", []edit{replace(file+".missing", "once", "", "")})
	require.ErrorIs(t, err, ErrAnchor)
}
