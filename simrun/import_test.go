package simrun

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/traces"
	"github.com/watchsim/watchsim/traces/judge"
)

func TestFilesAreImportedAndJudged(t *testing.T) {
	lost := func(name string) string { return repository(t, "traces/importer/testdata/lost-event/"+name) }
	out := filepath.Join(t.TempDir(), "history.jsonl")
	code, stdout, stderr := simrun(t, "import", "audit", "a="+lost("audit-a.log"), "b="+lost("audit-b.log"),
		"etcdctl", lost("state.json"), lost("changes.json"), "--etcd-rev", "2", "-o", out)
	require.Equal(t, exitPassed, code, stderr)
	require.Empty(t, stdout)
	stdout = simrunExits(t, exitFailed, "check", "--json", out)
	var verdict judge.Verdict
	require.NoError(t, json.Unmarshal([]byte(stdout), &verdict))
	require.Equal(t, "Exact-state", verdict.Violations[0].Guarantee)
	require.Contains(t, verdict.Violations[0].Text, " on b")

	// The same on standard output, as for a pipe.
	stdout = simrunExits(t, exitPassed, "import", "history", out)
	_, _, err := traces.ReadValidHistory(strings.NewReader(stdout))
	require.NoError(t, err)
}
