package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireRefused checks for exit code 2 and one sentence.
func requireRefused(t *testing.T, says string, code int, stdout, stderr string) {
	t.Helper()
	require.Equal(t, exitUsage, code, "%s%s", stdout, stderr)
	require.Empty(t, stdout)
	require.Equal(t, 1, strings.Count(stderr, "\n"), "expected one sentence, found:\n%s", stderr)
	require.True(t, strings.HasPrefix(stderr, "simrun: ") && strings.HasSuffix(stderr, "\n"), stderr)
	require.Contains(t, stderr, says)
}

func TestBadUsageIsRefusedInASentence(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	malformed := write("malformed", "# watchsim plan v1\nat 5s compaction revision=current\nat 6s etcd-crash member=etcd-0\n")
	newer := write("newer", "# watchsim plan v9\n")
	other := write("other", "at 5s etcd-crash member=etcd-2 down=1s\n")
	late := write("late", "\nat 2h leader-move\nat 3h compaction revision=current # too late\n")
	twice := write("twice", "at 5s etcd-crash member=etcd-0 down=9s\n# while it is down:\n  at 6s etcd-restart member=etcd-0\n")

	for name, row := range map[string]struct {
		arguments string
		says      string
	}{
		"no seed":               {"", "expected --seed or --seeds, found neither"},
		"seed and seeds":        {"--seed 1 --seeds 1-2", "found both"},
		"seed is a word":        {"--seed seven", `found "seven"`},
		"seed is negative":      {"--seed -3", `found "-3"`},
		"seed is too large":     {"--seed 18446744073709551616", "from 0 to 2^64-1"},
		"range backwards":       {"--seeds 5-3", "its first not above its last"},
		"range of words":        {"--seeds x-y", `found "x-y"`},
		"range is negative":     {"--seeds -1-5", `found "-1-5"`},
		"range without end":     {"--seeds 5-", `found "5-"`},
		"range of one number":   {"--seeds 5", `found "5"`},
		"range of all numbers":  {"--seeds 0-18446744073709551615", "expected at most 1000000000 seeds"},
		"unknown target":        {"--seed 1 --target vacuum", `expected one of cacher, kubernetes`},
		"other target's mutant": {"--seed 1 --mutant A01 --target cacher", "expected kubernetes, which has the mutant A01, found cacher"},
		"unknown scenario":      {"--seed 1 --scenario doomsday", `expected one of minute`},
		"unknown mutant":        {"--seed 1 --mutant B99", `unknown mutant: expected one of canary, `},
		"unknown flag":          {"--seed 1 --sede 2", "unknown flag: --sede"},
		"unknown command":       {"rnu", `unknown command "rnu"`},
		"two members":           {"--seed 1 --etcd-members 2", "expected 1 or 3 etcd members, found 2"},
		"too many servers":      {"--seed 1 --servers 99", "found 99"},
		"too short":             {"--seed 1 --duration 1s", "expected a duration of 20s to 24h0m0s, found 1s"},
		"too long":              {"--seed 1 --duration 25h", "found 25h0m0s"},
		"duration without unit": {"--seed 1 --duration 60", `invalid argument "60"`},
		"operations":            {"--seed 1 --operations -5", "found -5"},
		"no workers":            {"--seed 1 --workers 0", "expected at least 1 worker"},
		"no plan file":          {"--seed 1 --faults /nowhere/plan", "no such file"},
		"plan is a folder":      {"--seed 1 --faults " + dir, "is a directory"},
		"unknown kind":          {"--seed 1 --faults compaction,earthquake", `found "compaction,earthquake"`},
		"malformed plan":        {"--seed 1 --faults " + malformed, "line 3, column 31: expected down="},
		"newer plan":            {"--seed 1 --faults " + newer, "line 1, column 17: expected a plan of version v1"},
		"other topology":        {"--seed 1 --faults " + other, `other: faults: line 1, column 18: expected member to be one of [etcd-0], found "etcd-2"`},
		"plan for longer runs":  {"--seed 1 --etcd-members 3 --faults " + late, "line 2, column 4: expected it to be over within the run, which takes 1m0s, found 2h0m0s"},
		"contradictory plan":    {"--seed 1 --faults " + twice, `line 3, column 3: expected "at 5s etcd-crash member=etcd-0 down=9s" of line 1 to be over`},
		"out is a file":         {"--seed 1 --out " + newer, "--out: cannot write to " + newer},
		"out is below a file":   {"--seed 1 --out " + newer + "/out", "not a directory"},
		"out is not writable":   {"--seed 1 --out /proc", "--out: cannot write to /proc"},
		"replay of nothing":     {"replay", "expected the folder of one run, found 0 arguments"},
		"replay of much":        {"replay a b", "found 2 arguments"},
		"replay of no folder":   {"replay /nowhere", "expected the file /nowhere/run.json, found none"},
		"verify of nothing":     {"verify", "expected --seed or --seeds, found neither"},
		"verify of two members": {"verify --seed 1 --etcd-members 2", "expected 1 or 3 etcd members"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := simrun(t, strings.Fields(row.arguments)...)
			requireRefused(t, row.says, code, stdout, stderr)
		})
	}
}
