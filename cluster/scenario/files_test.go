package scenario

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// holds checks that a folder contains exactly these files.
func holds(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	found := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		require.NoError(t, err)
		found[entry.Name()] = string(content)
	}
	require.Equal(t, want, found)
}

func TestFilesAreWrittenTogether(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, writeAll(dir, []file{text("tape", "1"), text("plan", "1"), text("stacks", "1")}))
	holds(t, dir, map[string]string{"tape": "1", "plan": "1", "stacks": "1"})

	require.NoError(t, writeAll(dir, []file{text("tape", "2"), absent("stacks"), text("report", "")}))
	holds(t, dir, map[string]string{"tape": "2", "plan": "1"})
}

func TestNoFileIsReplacedIfOneCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, writeAll(dir, []file{text("tape", "1"), text("plan", "1")}))

	err := writeAll(dir, []file{text("tape", "2"), absent("plan"), text("missing/history", "2")})
	require.ErrorContains(t, err, "cannot write "+filepath.Join(dir, "missing/history"))
	holds(t, dir, map[string]string{"tape": "1", "plan": "1"})
}
