package simrun

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/traces"
)

// recordRun writes the artifacts of a run and returns their folder.
func recordRun(t *testing.T, arguments ...string) string {
	t.Helper()
	out := t.TempDir()
	code, stdout, stderr := simrun(t, append([]string{"--out", out, "--seed", "7"}, arguments...)...)
	require.Contains(t, []int{exitPassed, exitFailed}, code, stderr)
	folders, err := filepath.Glob(filepath.Join(out, "*"))
	require.NoError(t, err)
	require.Len(t, folders, 1)
	require.Contains(t, stdout, "artifacts in "+folders[0])
	return folders[0]
}

// A run with branches is reproduced from text: the seed and the places.
func TestARunThatBranchesIsReproducedFromItsRecipe(t *testing.T) {
	calm := []string{"--target", "forgetful", "--scenario", "calm", "--operations", "60"}
	recipe := []string{"--branch", "decision=1000,seed=5", "--branch", "20s,seed=6"}
	plain, branched := recordRun(t, calm...), recordRun(t, append(calm, recipe...)...)
	hash := verdictIn(t, branched).Hash
	require.NotEqual(t, verdictIn(t, plain).Hash, hash)
	require.Contains(t, content(t, branched, "report.txt"), "branch decision=1000,seed=5  branch 20s,seed=6")

	inPlace := recordRun(t, append(append(calm, recipe...), "--no-fork")...)
	require.Equal(t, hash, verdictIn(t, inPlace).Hash)
	stdout := simrunExits(t, exitFailed, "replay", branched)
	require.Contains(t, stdout, "the hash agrees: "+hash)
	simrunExits(t, exitFailed, append([]string{"replay", plain}, recipe...)...)
	require.Equal(t, hash, verdictIn(t, filepath.Join(filepath.Dir(plain), filepath.Base(branched))).Hash)

	stdout = simrunExits(t, exitFailed, "diff", plain, branched)
	require.Regexp(t, `the first divergence is after 10[0-9][0-9] decisions that are the same`, stdout)
	simrunExits(t, exitPassed, "shrink", "--budget", "1m", branched)
	require.Empty(t, verdictIn(t, branched+"-shrunk").Branches, "the tape of what is left says it all")

	redrawn := recordRun(t, append(calm, "--branch", "20s,seed=6,redraw")...)
	require.Contains(t, content(t, redrawn, "report.txt"), "branch 20s,seed=6,redraw")
	require.NotEqual(t, verdictIn(t, plain).Hash, verdictIn(t, redrawn).Hash)
	stdout = simrunExits(t, exitFailed, "replay", redrawn)
	require.Contains(t, stdout, "the hash agrees: ")
}

// A replay stops where it is told to, and writes down what happens and what is logged, without which it is the same run.
func TestAReplayShowsTheRun(t *testing.T) {
	folder := recordRun(t, "--scenario", "calm")
	simrunExits(t, exitPassed, "replay", "--trace", folder)
	text := content(t, folder, "replay", "trace.txt")
	require.Regexp(t, `(?m)^[0-9]+ at [0-9.hmµns]+: goroutine #[0-9]+ runs$`, text)
	require.Contains(t, text, "cacher.(*Cacher).Watch", "the callers of what synchronises")
	require.NoFileExists(t, filepath.Join(folder, "replay", "trace.gz"))

	stdout := simrunExits(t, exitPassed, "replay", "--log", folder)
	require.Contains(t, stdout, "the hash agrees: ")
	require.Regexp(t, `(?m)^ +-?[0-9.]+s  etcd-0 +info`, content(t, folder, "replay.2/log.txt"))

	stdout = simrunExits(t, exitPassed, "replay", "--until", "20s", "--stacks", folder)
	require.Regexp(t, `STOPPED  seed 7 at (19\.9|20\.0)[0-9]*s, after [0-9]+ decisions`, stdout)
	require.Contains(t, stdout, "the decisions so far are those that were recorded")
	require.Contains(t, stdout, "[apiserver-0 #")
	stdout = simrunExits(t, exitPassed, "replay", "--until", "decision=1000", folder)
	// An interruption is up to three decisions, between which nothing can stop.
	require.Regexp(t, `after 100[0-2] decisions`, stdout)
}

func TestReplayOfAChangedTapeDiffers(t *testing.T) {
	folder := recordRun(t, "--scenario", "calm")
	recorded, err := scenario.Load(folder)
	require.NoError(t, err)
	for _, tenth := range []int{1, 5, 9} {
		changed := traces.Tape{Seed: recorded.Spec.Seed, Decisions: bytes.Clone(recorded.Tape)}
		changed.Decisions[len(changed.Decisions)*tenth/10] ^= 1
		var file bytes.Buffer
		require.NoError(t, traces.WriteTape(&file, changed))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "tape.bin"), file.Bytes(), 0o600))

		stdout := simrunExits(t, exitInconclusive, "replay", folder)
		require.Contains(t, stdout, "the replay differs: ")
	}
}

// A folder from before compression replays like any other.
func TestAFolderOfVersion1Replays(t *testing.T) {
	folder := recordRun(t, "--scenario", "calm")
	for _, name := range []string{"tape.bin", "history.jsonl"} {
		content, err := traces.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
		require.NoError(t, os.Remove(filepath.Join(folder, name+".zst")))
	}
	require.NoError(t, os.Remove(filepath.Join(folder, "decisions.txt.zst")))
	path := filepath.Join(folder, "run.json")
	about := strings.Replace(content(t, folder, "run.json"), `"version": 3`, `"version": 1, "go": "go1.26.8"`, 1)
	require.NoError(t, os.WriteFile(path, []byte(about), 0o600))
	stdout := simrunExits(t, exitPassed, "replay", folder)
	require.Contains(t, stdout, "the hash agrees: ")
	simrunExits(t, exitPassed, "check", folder)
}

func TestFoldersThatAreNotOursAreRefused(t *testing.T) {
	folder := recordRun(t, "--scenario", "calm")
	replace := func(old, with string) func(string) string {
		return func(content string) string { return strings.Replace(content, old, with, 1) }
	}
	truncate := func(content string) string { return content[:len(content)/2] }
	foreign := func(string) string { return "#!/bin/sh\necho hello\n" }

	for name, row := range map[string]struct {
		file   string
		change func(string) string // nil removes the file
		says   string
	}{
		// A crash has truncated these, and the error says how far they go.
		"compressed tape":    {"tape.bin.zst", truncate, "expected a whole compressed file, found one that ends after 0 bytes of its content; the file is truncated"},
		"compressed history": {"history.jsonl.zst", truncate, "the history is truncated: the compressed file ends in the middle of line 1"},

		"no run":          {"run.json", nil, "run.json, found none; give the folder that a run has written"},
		"foreign run":     {"run.json", foreign, `expected JSON with the format "watchsim.run" in run.json`},
		"truncated run":   {"run.json", truncate, `expected JSON with the format "watchsim.run" in run.json`},
		"newer run":       {"run.json", replace(`"version": 3`, `"version": 99`), "expected version 1 to 3 in run.json, found version 99"},
		"unknown target":  {"run.json", replace(`"target": "`, `"target": "un`), "unknown target"},
		"unknown mutant":  {"run.json", replace(`"seed"`, `"mutant": "B99", "seed"`), "unknown mutant"},
		"impossible run":  {"run.json", replace(`"members": 1`, `"members": 2`), "expected 1 or 3 etcd members, found 2"},
		"no plan":         {"plan.txt", nil, "plan.txt, found none"},
		"foreign plan":    {"plan.txt", func(string) string { return "hello\n" }, "line 1, column 1: expected a line to begin with at"},
		"other plan":      {"plan.txt", func(string) string { return "at 5s etcd-crash member=etcd-2 down=1s\n" }, `found "etcd-2"`},
		"no tape":         {"tape.bin", nil, "tape.bin, found none"},
		"foreign tape":    {"tape.bin", foreign, `line 1: expected the format "watchsim.tape"`},
		"truncated tape":  {"tape.bin", truncate, "the file is truncated"},
		"damaged tape":    {"tape.bin", func(content string) string { return content[:len(content)-1] + "\xfe" }, "the file is damaged"},
		"tape of another": {"tape.bin", replace(`"seed":7`, `"seed":8`), "it belongs to another run"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := filepath.Join(t.TempDir(), "changed")
			require.NoError(t, os.CopyFS(changed, os.DirFS(folder)))
			path := filepath.Join(changed, row.file)
			there, err := traces.FindFile(path)
			require.NoError(t, err)
			read, command := traces.ReadFile, "replay"
			switch row.file {
			case "tape.bin.zst":
				read = os.ReadFile
			case "history.jsonl.zst":
				read, command = os.ReadFile, "check"
			}
			content, err := read(path)
			require.NoError(t, err)
			require.NoError(t, os.Remove(there))
			if row.change != nil {
				require.NotEqual(t, string(content), row.change(string(content)), "the row changes nothing")
				require.NoError(t, os.WriteFile(path, []byte(row.change(string(content))), 0o600))
			}
			refused(t, row.says, command, changed)
		})
	}
}
