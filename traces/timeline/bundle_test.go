package timeline

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sources are what the bundle is made from, in the order of web/build.mjs.
func sources(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("web/src")
	require.NoError(t, err)
	names := []string{"build.mjs", "package-lock.json", "package.json", "tsconfig.json"}
	for _, entry := range entries {
		names = append(names, "src/"+entry.Name())
	}
	require.True(t, slices.IsSorted(names[4:]))
	return names
}

// TestTheBundleIsOfTheseSources needs no node: the bundle names the hash of what
// it was made from.
func TestTheBundleIsOfTheseSources(t *testing.T) {
	sum := sha256.New()
	for _, name := range sources(t) {
		content, err := os.ReadFile(filepath.Join("web", name))
		require.NoError(t, err)
		sum.Write([]byte(name + "\n"))
		sum.Write(content)
	}
	first, _, _ := strings.Cut(script, "\n")
	require.Contains(t, first, hex.EncodeToString(sum.Sum(nil)), "the bundle is of other sources; run `make timeline-web`")
}

// TestTheBundleIsWhatTheSourcesGive makes it again, from the pinned versions of
// the lock file.
func TestTheBundleIsWhatTheSourcesGive(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		lacking(t, "expected npm to make the bundle with, found none; `apt-get install nodejs npm` installs it")
	}
	dir := t.TempDir()
	for _, name := range sources(t) {
		content, err := os.ReadFile(filepath.Join("web", name))
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	for _, arguments := range [][]string{{"ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"}, {"run", "check"}, {"run", "build"}} {
		command := exec.Command("npm", arguments...)
		command.Dir = dir
		out, err := command.CombinedOutput()
		require.NoError(t, err, "npm %v: %s", arguments, out)
	}
	for _, name := range []string{"timeline.css", "timeline.js"} {
		again, err := os.ReadFile(filepath.Join(dir, "dist", name))
		require.NoError(t, err)
		committed, err := os.ReadFile(filepath.Join("web/dist", name))
		require.NoError(t, err)
		require.Equal(t, string(committed), string(again), "%s is not what its sources give; run `make timeline-web`", name)
	}
}
