package scenario

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/traces"
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

// FuzzLoad puts three arbitrary files into a run's folder. Load must reject what is not
// a run in one line that names the file; what it accepts has a plan and a tape of its
// own seed.
func FuzzLoad(f *testing.F) {
	spec := specOf(f, "minute")
	spec.Seed = 7
	about, err := (&Run{Spec: spec}).about(CurrentBuild(), "1c313b6a2b968930")
	require.NoError(f, err)
	var tape bytes.Buffer
	require.NoError(f, traces.WriteTape(&tape, traces.Tape{Seed: 7, Decisions: []byte{0, 1, 255, 0, 1, 0, 0}}))
	plan := []byte("watchsim-faults 1\nat 5s watch-break server=apiserver-0\n")
	f.Add(about, plan, tape.Bytes())
	f.Add(bytes.Replace(about, []byte(`"version": 3`), []byte(`"version": 1e400`), 1), plan, tape.Bytes())
	f.Add(about[:len(about)/2], []byte("at"), tape.Bytes()[:40])
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, about, plan, tape []byte) {
		for name, content := range map[string][]byte{runFile: about, planFile: plan, tapeFile: tape} {
			require.NoError(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
		}
		recorded, err := Load(folder)
		if err != nil {
			require.ErrorIs(t, err, ErrFolder)
			require.NotContains(t, err.Error(), "\n")
			require.Contains(t, err.Error(), folder)
			return
		}
		require.Equal(t, string(plan), recorded.Spec.Plan)
	})
}

func TestABrokenRunFileSaysWhere(t *testing.T) {
	for says, content := range map[string]string{
		"found something else at byte 12":                                                `{"format": x`,
		"found something else at byte 16, in the field version":                          `{"version":"two"}`,
		`expected JSON with the format "watchsim.run" in run.json, found something else`: `{"format":"another"}`,
	} {
		folder := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(folder, runFile), []byte(content), 0o600))
		_, err := Load(folder)
		require.ErrorIs(t, err, ErrFolder)
		require.ErrorContains(t, err, says)
	}
}
