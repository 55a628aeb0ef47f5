package simrun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAHistoryIsExplained(t *testing.T) {
	stdout := simrunExits(t, exitFailed, "explain", repository(t, "traces/judge/testdata/bugs/A13.jsonl.zst"))
	require.Contains(t, stdout, "etcd RV 3: writer-3 updates red/b <-- expected")
	require.Contains(t, stdout, ">> receives BOOKMARK (RV 3)")

	simrunExits(t, exitPassed, "explain", repository(t, "traces/testdata/history.jsonl"))
}

// A run whose bug shows under any schedule needs no decision. The intermediate runs are removed,
// unless --out is given.
func TestARunIsExplainedByItsDecisions(t *testing.T) {
	folder, temporary := failing(t), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	before := files(t, filepath.Dir(folder))
	stdout := simrunExits(t, exitFailed, "explain", "--budget", "3m", folder)
	require.Contains(t, stdout, "No decision of the scheduler matters")
	require.Equal(t, before, files(t, filepath.Dir(folder)))
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left)

	kept := filepath.Join(t.TempDir(), "kept")
	simrunExits(t, exitFailed, "explain", "--budget", "3m", "-o", kept, folder)
	require.FileExists(t, filepath.Join(kept, "decisive.json"))
	stdout = simrunExits(t, exitFailed, "replay", kept)
	require.Contains(t, stdout, "the hash agrees: ")
}

func TestTwoHistoriesAreCompared(t *testing.T) {
	path := repository(t, "traces/testdata/history.jsonl")
	stdout := simrunExits(t, exitPassed, "diff", path, path)
	require.Contains(t, stdout, "the histories are the same")

	changed := filepath.Join(t.TempDir(), "changed.jsonl")
	require.NoError(t, os.WriteFile(changed, []byte(strings.Replace(content(t, path), `"return":3000000`, `"return":3000001`, 1)), 0o600))
	stdout = simrunExits(t, exitFailed, "diff", path, changed)
	require.Regexp(t, `the first divergence is after [0-9]+ moments that are the same`, stdout)
	require.Contains(t, stdout, ">> 0.003s")
	for line := range strings.Lines(stdout) {
		require.LessOrEqual(t, len(strings.TrimRight(line, "\n")), 100)
	}
}

func TestTwoRunsAreCompared(t *testing.T) {
	one, two := recordRun(t, "--scenario", "calm"), recordRun(t, "--scenario", "calm", "--operations", "190")
	stdout := simrunExits(t, exitFailed, "diff", one, two)
	require.Contains(t, stdout, "operations (200 and 190)")
	require.Regexp(t, `the first divergence is after [0-9]+ decisions that are the same`, stdout)
	simrunExits(t, exitPassed, "diff", one, one)
}

// repository is the absolute path of a file of the repository.
func repository(t *testing.T, path string) string {
	t.Helper()
	absolute, err := filepath.Abs(filepath.Join("..", path))
	require.NoError(t, err)
	return absolute
}
