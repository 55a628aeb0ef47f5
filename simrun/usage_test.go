package simrun

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

// refused runs simrun, which must reject its arguments.
func refused(t *testing.T, says string, arguments ...string) {
	t.Helper()
	code, stdout, stderr := simrun(t, arguments...)
	requireRefused(t, says, code, stdout, stderr)
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
	other := write("other", "# watchsim plan v1\nat 5s etcd-crash member=etcd-2 down=1s\n")
	late := write("late", "# watchsim plan v1\nat 2h leader-move\nat 3h compaction revision=current # too late\n")
	twice := write("twice", "# watchsim plan v1\nat 5s etcd-crash member=etcd-0 down=9s\n# while it is down:\n  at 6s etcd-restart member=etcd-0\n")

	headless := write("headless", "at 5s compaction revision=current\n")
	log := write("bad.log", "{\"kind\":\"Event\"}\nnonsense\n")

	for name, row := range map[string]struct{ arguments, says string }{
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
		"unknown target":        {"--seed 1 --target vacuum", `unknown target "vacuum": expected one of cacher, kubernetes`},
		"other target's mutant": {"--seed 1 --mutant A01 --target cacher", "expected kubernetes, which has the mutant A01, found cacher"},
		"two targets' mutants":  {"--seed 1 --mutant A01 --mutant cacher-A01", "--mutant: these mutants cannot be in one program: expected mutants of one target"},
		"a mutant twice":        {"--seed 1 --mutant A01,A01", "--mutant: expected each mutant once, found A01 twice"},
		"a spec with a seed":    {"spec --seed 1", "expected flags that say what a run is, found --seed"},
		"a spec of no scenario": {"spec --scenario doomsday", `unknown scenario "doomsday"`},
		"unknown scenario":      {"--seed 1 --scenario doomsday", `unknown scenario "doomsday": expected one of minute`},
		"unknown mutant":        {"--seed 1 --mutant B99", "`simrun mutants` lists them"},
		"nearly a scenario":     {"--seed 1 --scenario minut", `unknown scenario "minut": did you mean "minute"?`},
		"nearly a target":       {"--seed 1 --target kubernets", `did you mean "kubernetes"?`},
		"nearly a mutant":       {"--seed 1 --mutant cnaary", `did you mean "canary"?`},
		"nearly a kind":         {"--seed 1 --faults reset,compacton", `--faults: unknown kind "compacton": did you mean "compaction"?`},
		"nearly a strategy":     {"explore --strategy exaustive", `--strategy: unknown strategy "exaustive": did you mean "exhaustive"?`},
		"nearly a guarantee":    {"shrink --guarantee relable /nowhere", `--guarantee: unknown guarantee "relable": did you mean "Reliable"?`},
		"nearly a command":      {"replya", `did you mean "replay"?`},
		"unknown flag":          {"--seed 1 --sede 2", "unknown flag: --sede: did you mean --seed?"},
		"unknown command":       {"rnu", `unknown command "rnu"`},
		"two members":           {"--seed 1 --etcd-members 2", "expected 1 or 3 etcd members, found 2"},
		"too many servers":      {"--seed 1 --servers 99", "found 99"},
		"too short":             {"--seed 1 --duration 1s", "expected a duration of 20s to 24h0m0s, found 1s"},
		"too long":              {"--seed 1 --duration 25h", "found 25h0m0s"},
		"duration without unit": {"--seed 1 --duration 60", `--duration: expected a time such as 30s or 1m30s, found "60"`},
		"number is a word":      {"--seed 1 --servers two", `--servers: expected a whole number, found "two"`},
		"time is a word":        {"explore --delays 5ms,late", `--delays: expected times such as 5ms,300ms, found "5ms,late"`},
		"answer is a word":      {"--seed 1 --json=perhaps", `--json: expected true or false, found "perhaps"`},
		"a window of check":     {"check --window x history.jsonl", `--window: expected a whole number, found "x"`},
		"no operations":         {"--seed 1 --operations 0", "expected 1 to 100000 operations, found 0"},
		"no servers":            {"--seed 1 --servers 0", "expected 1 to 4 API servers, found 0"},
		"no time":               {"--seed 1 --duration 0s", "expected a duration of 20s to 24h0m0s, found 0s"},
		"operations":            {"--seed 1 --operations -5", `--operations: invalid knob: operations: expected a value such as 200, 50, 100, 400, 800, 3000, found "-5"`},
		"unknown knob":          {"--seed 1 --set memory=3", "--set: unknown knob \"memory\": `simrun knobs` lists them"},
		"nearly a knob":         {"--seed 1 --set member=3", `did you mean "members"?`},
		"knob without value":    {"--seed 1 --set mix", "--set: expected a knob and its value, such as mix=usual, found \"mix\""},
		"value of no knob":      {"--seed 1 --set mix=wild", `--set: invalid knob: mix: expected a value such as usual, churn, updates, controllers, found "wild"`},
		"no workers":            {"--seed 1 --workers 0", "--workers: expected at least 1 worker, found 0"},
		"no plan file":          {"--seed 1 --faults /nowhere/plan", "no such file"},
		"plan is a folder":      {"--seed 1 --faults " + dir, "is a directory"},
		"unknown kind":          {"--seed 1 --faults compaction,earthquake", `unknown kind "earthquake"`},
		"malformed plan":        {"--seed 1 --faults " + malformed, "line 3, column 31: expected down="},
		"plan without header":   {"--seed 1 --faults " + headless, `headless: line 1: expected "# watchsim plan v1", found "at 5s compaction revision=current"`},
		"newer plan":            {"--seed 1 --faults " + newer, "line 1, column 17: expected a plan of version v1"},
		"other topology":        {"--seed 1 --faults " + other, `other: faults: line 2, column 18: expected member to be one of [etcd-0], found "etcd-2"`},
		"plan for longer runs":  {"--seed 1 --etcd-members 3 --faults " + late, "line 2, column 4: expected it to be over within the run, which takes 1m0s, found 2h0m0s"},
		"contradictory plan":    {"--seed 1 --faults " + twice, `line 4, column 3: expected "at 5s etcd-crash member=etcd-0 down=9s" of line 2 to be over`},
		"out is a file":         {"--seed 1 --out " + newer, "--out: cannot write to " + newer},
		"out is below a file":   {"--seed 1 --out " + newer + "/out", "not a directory"},
		"out is not writable":   {"--seed 1 --out /proc", "--out: cannot write to /proc"},
		"replay of nothing":     {"replay", "expected the folder of one run, found 0 arguments"},
		"replay of much":        {"replay a b", "found 2 arguments"},
		"replay of a file":      {"replay " + newer, "expected a folder, found the file " + newer},
		"prompt and a place":    {"replay --prompt --until 1s /nowhere", "--prompt: expected none of --until, "},
		"replay of no folder":   {"replay /nowhere", "expected the file /nowhere/run.json, found none"},
		"verify of nothing":     {"verify", "expected --seed or --seeds, found neither"},
		"verify of two members": {"verify --seed 1 --etcd-members 2", "expected 1 or 3 etcd members"},
		"shards from 0":         {"campaign --seeds 1-9 --shard 0/3", "counting from 1"},
		"shard beyond the last": {"campaign --seeds 1-9 --shard 4/3", `found "4/3"`},
		"shards without a pod":  {"campaign --seeds 1-9 --shards 2", "such as --shard 1/2"},
		"negative keep":         {"campaign --seeds 1-9 --keep -1", "found -1"},
		"everything kept":       {"campaign --seeds 1-9 --keep-all", "expected --keep with a number"},
		"campaign of nothing":   {"campaign", "expected --seed or --seeds, found neither"},
		"merge of nothing":      {"merge", "expected the results of shards, found none"},
		"merge of no file":      {"merge /nowhere", "no such file"},
		"merge of other files":  {"merge .", "expected files such as shard-1-of-1.jsonl"},
		"shrink of nothing":     {"shrink", "expected the folder of one failing run, found 0"},
		"shrink by nobody":      {"shrink --workers 0 /nowhere", "expected at least 1 worker, found 0"},
		"shrink in no time":     {"shrink --budget -1s /nowhere", "expected a time above zero, found -1s"},
		"shrink of no folder":   {"shrink /nowhere", "/nowhere/run.json, found none"},
		"stacks of nowhere":     {"replay --stacks /nowhere", "--stacks: expected --until with it"},
		"branch without seed":   {"--seed 7 --branch 12.5s", "--branch: expected a place and a seed, such as 12.5s,s"},
		"redraw at a decision":  {"--seed 7 --branch decision=9,seed=2,redraw", "expected a time, such as 12.5s, from which to redraw"},
		"branch of no history":  {"--seed 7 --branch rv=3,seed=2", "of a run that is yet to be made"},
		"branches backwards":    {"--seed 7 --branch 2s,seed=2 --branch 1s,seed=3", "found 1s,seed=3 after those before it"},
		"two stops":             {"replay --until 1s --break-at 2s /nowhere", "expected --until or --break-at, found both"},
		"verdict of a stop":     {"replay --json --until 1s /nowhere", "found one that is to stop early"},
		"explain of nothing":    {"explain", "found 0 arguments"},
		"explain in no time":    {"explain --budget -1s /nowhere", "--budget: expected a time of at least zero, found -1s"},
		"negative bound":        {"explore --bound -1", "expected 0 or more deviations, found -1"},
		"no depth":              {"explore --strategy pct --depth 0", "--depth: expected at least 1, found 0"},
		"negative runs":         {"explore --runs -1", "expected limits of 0 or more, found --runs -1"},
		"long delay":            {"explore --delays 4s", "expected times above 0 and up to 3s, found 4s"},
		"window backwards":      {"explore --from 4s --to 3s", "expected a window that ends after it begins"},
		"exploring nothing":     {"explore --scenario doomsday", "expected one of minute"},
		"explored by nobody":    {"explore --workers 0", "expected at least 1 worker"},
		"check of nothing":      {"check", "expected histories to check, found none"},
		"check of no history":   {"check " + dir, "expected the file history.jsonl in the folder, found none"},
		"diff of one":           {"diff /nowhere", "expected two folders of runs or two histories, found 1 argument\n"},
		"diff of no histories":  {"diff /nowhere /nowhere", "expected a history"},
		"timeline of nothing":   {"timeline", "expected histories to draw, found none"},
		"timeline of one twice": {"timeline " + exampleHistory + " " + exampleHistory, "expected a history of one resource, and no other of the same"},
		"timeline of no file":   {"timeline nowhere.jsonl", "nowhere.jsonl: expected a history"},
		"timeline to no folder": {"timeline -o /nowhere/at/all.html " + exampleHistory, "-o: expected a place that can be written to, found that /nowhere/at/all.html cannot: no such file or directory"},
		"import of nothing":     {"import", "expected files to import, found none"},
		"import of no kind":     {"import " + log, "expected audit, kubectl, etcdctl or history"},
		"import of other files": {"import audit a=" + log, log + ":1 (byte 0): expected an audit event"},
		"import of no file":     {"import kubectl a=/nowhere", "expected a file to import, found that it cannot be"},

		// Commands that cannot run the tests of a target say so, whether it is named or implied by a mutant.
		"explored tests":           {"explore --target controlplane", "expected another target than controlplane"},
		"campaign of tests":        {"campaign --seeds 1-2 --target http", "expected another target than http"},
		"campaign of controlplane": {"campaign --seeds 1-2 --mutant RS02", "expected another target than controlplane"},
		"campaign of operator":     {"campaign --seeds 1-2 --mutant OP05", "expected another target than operator"},

		// What such a target cannot do is reported before anything is built.
		"tests of no seed":          {"--target controlplane", "expected --seed or --seeds, found neither"},
		"tests for a time":          {"--target controlplane --seed 1 --duration 1m", "--duration: expected only --scenario, --seed, "},
		"other scenario of tests":   {"--target controlplane --seed 1 --scenario storm", `unknown scenario "storm": expected one of any, ha, node-loss, leader-loss, namespace-delete, service-churn, job-storm, volumes, crd-conversion, rollout`},
		"tests of no mutant":        {"--target controlplane --seed 1 --mutant sunshine", "--mutant: expected one of target controlplane, which `simrun mutants` lists, found \"sunshine\""},
		"tests of another's mutant": {"--target controlplane --seed 1 --mutant cacher-A01", "--mutant: expected mutants that one scenario of target controlplane has, found cacher-A01"},
		"tests by nobody":           {"--target controlplane --seed 1 --workers 0", "expected at least 1 worker, found 0"},
		"tests of no kind":          {"--target controlplane --seed 1 --faults sunshine", `--faults: unknown kind "sunshine"`},
		"tests with a plan":         {"--target controlplane --seed 1 --faults plan.txt", "--faults: "},
		"tests of no module":        {"--target controlplane --seed 1 --use k8s.io/where", "--use: "},
		"HTTP in any scenario":      {"--target http --seed 1 --scenario any", `unknown scenario "any": expected one of clients, clients-ha, clients-cacher`},
		"HTTP with another mutant":  {"--target http --seed 1 --mutant RS02", "--mutant: expected one of target http, which `simrun mutants` lists, found \"RS02\""},
		"HTTP with another fault":   {"--target http --seed 1 --faults kms-error", `--faults: unknown kind "kms-error"`},
		"HTTP without its cache":    {"--target http --seed 1 --scenario clients --mutant cacher-A01", "--scenario: expected clients-cacher, whose API servers can have the mutant cacher-A01, found clients"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runHere(strings.Fields(row.arguments)...)
			requireRefused(t, row.says, code, stdout, stderr)
		})
	}
}
