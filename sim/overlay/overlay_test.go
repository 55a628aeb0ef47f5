package overlay

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// project is the project itself.
var project = Project{Dir: "../.."}

func TestEveryAnchorOccursOnceInTheInstalledGo(t *testing.T) {
	toolchain, err := Installed()
	require.NoError(t, err)
	build, err := Write(toolchain, project, t.TempDir())
	require.NoError(t, err)

	text, err := os.ReadFile(build.Overlay)
	require.NoError(t, err)
	var listing struct{ Replace map[string]string }
	require.NoError(t, json.Unmarshal(text, &listing))
	require.NotEmpty(t, listing.Replace)
	require.Empty(t, build.ModFile)
	for original, copied := range listing.Replace {
		require.True(t, strings.HasPrefix(original, filepath.Join(toolchain.Root, "src")+"/"), "%s is not of Go itself", original)
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
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file.go"), []byte("once\ntwice\ntwice\n"), 0o600))

	contents := map[string]string{}
	require.NoError(t, replace("file.go", "once", "ONCE", "").edit(dir, contents))
	require.NoError(t, replace("file.go", "ONCE", "Once", "").edit(dir, contents))
	require.Equal(t, "Once\ntwice\ntwice\n", contents[filepath.Join(dir, "file.go")])

	for anchor, count := range map[string]string{"twice": "2 times", "never": "0 times", "": "times"} {
		_, err := replace("file.go", anchor, "", "").Apply("once\ntwice\ntwice\n")
		require.ErrorIs(t, err, ErrAnchor)
		for _, part := range []string{"file.go", count, anchor} {
			require.ErrorContains(t, err, part)
		}
	}
	require.ErrorIs(t, replace("missing.go", "once", "", "").edit(dir, contents), ErrAnchor)
}
