package simrun

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/traces"
)

func TestFilesAreImportedAndJudged(t *testing.T) {
	lost := func(name string) string { return repository(t, "traces/importer/testdata/lost-event/"+name) }
	out := filepath.Join(t.TempDir(), "history.jsonl")
	code, stdout, stderr := simrun(t, "import", "audit", "a="+lost("audit-a.log"), "b="+lost("audit-b.log"),
		"etcdctl", lost("state.json"), lost("changes.json"), "--etcd-rev", "2", "-o", out)
	require.Equal(t, exitPassed, code, stderr)
	require.Empty(t, stdout)
	stdout = simrunExits(t, exitFailed, "check", "--json", out)
	var verdict struct {
		Violations []struct{ Guarantee, Text string }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &verdict))
	require.Equal(t, "Exact-state", verdict.Violations[0].Guarantee)
	require.Contains(t, verdict.Violations[0].Text, " on b")

	// The same on standard output, as for a pipe.
	code, stdout, stderr = simrun(t, "import", "history", out)
	require.Equal(t, exitPassed, code, stderr)
	_, _, err := traces.ReadValidHistory(strings.NewReader(stdout))
	require.NoError(t, err)
}

func TestImportRefusesWhatItCannotRead(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.log")
	require.NoError(t, os.WriteFile(bad, []byte("{\"kind\":\"Event\"}\nnonsense\n"), 0o600))
	for says, arguments := range map[string]string{
		"expected files to import, found none":               "import",
		"expected audit, kubectl, etcdctl or history":        "import " + bad,
		bad + ":1 (byte 0): expected an audit event":         "import audit a=" + bad,
		"expected a file to import, found that it cannot be": "import kubectl a=/nowhere",
	} {
		refused(t, says, strings.Fields(arguments)...)
	}
}
