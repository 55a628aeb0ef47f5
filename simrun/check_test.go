package simrun

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/traces"
	"github.com/watchsim/watchsim/traces/judge"
)

const exampleHistory = "../traces/testdata/history.jsonl"

// histories writes one file for each exit code, named after it.
func histories(t *testing.T) (path func(name string) string) {
	t.Helper()
	example, dir := content(t, exampleHistory), t.TempDir()
	for name, damage := range map[string][2]string{
		"passed":       {},
		"failed":       {`"type":"DELETED"`, `"type":"MODIFIED"`},
		"inconclusive": {},
		"bad":          {`"return":3000000`, `"return":3`},
	} {
		text := strings.Replace(example, damage[0], damage[1], 1)
		if name == "inconclusive" {
			text = `{"format":"watchsim.history","version":1}` + "\n" + `{"kind":"end","data":{"healed":0,"end":5,"revision":1,"records":0}}` + "\n"
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return func(name string) string { return filepath.Join(dir, name) }
}

// TestCheckExitsWithTheWorst tests the order in the help text: bad input, failed, inconclusive,
// passed.
func TestCheckExitsWithTheWorst(t *testing.T) {
	path := histories(t)
	for files, want := range map[string]int{
		"passed":                         exitPassed,
		"passed passed":                  exitPassed,
		"inconclusive":                   exitInconclusive,
		"passed inconclusive passed":     exitInconclusive,
		"failed":                         exitFailed,
		"inconclusive failed passed":     exitFailed,
		"bad":                            exitUsage,
		"failed bad inconclusive passed": exitUsage,
	} {
		t.Run(files, func(t *testing.T) {
			arguments := []string{"check"}
			names := strings.Fields(files)
			for _, name := range names {
				arguments = append(arguments, path(name))
			}
			code, stdout, stderr := simrun(t, arguments...)
			require.Equal(t, want, code, "%s%s", stdout, stderr)
			bad := 0
			for _, name := range names {
				if name == "bad" {
					bad++
					require.Contains(t, stderr, "simrun: "+path(name)+": the history holds a bad record: line 9, operation 1, field return: ")
				} else {
					require.Contains(t, stdout, strings.ToUpper(name)+"  "+path(name)+"\n")
				}
			}
			require.Equal(t, bad, strings.Count(stderr, "\n"), "one sentence for each bad file:\n%s", stderr)

			code, stdout, _ = simrun(t, append(arguments, "--json")...)
			require.Equal(t, want, code)
			lines := strings.Split(strings.TrimSpace(stdout), "\n")
			require.Len(t, lines, len(names), "one object a file")
			for i, line := range lines {
				var object map[string]any
				require.NoError(t, json.Unmarshal([]byte(line), &object))
				require.Equal(t, path(names[i]), object["file"])
				if names[i] == "bad" {
					require.Contains(t, object["error"], "field return")
				} else {
					require.Equal(t, names[i], object["verdict"])
				}
			}
		})
	}
}

func TestCheckReadsStandardInput(t *testing.T) {
	c, stdout, stderr := command(t, "check", "-")
	file, err := os.Open(exampleHistory)
	require.NoError(t, err)
	defer file.Close()
	c.Stdin = file
	require.Equal(t, exitPassed, exitCode(t, c.Run()), stderr.String())
	require.Contains(t, stdout.String(), "PASSED  standard input\n")
}

func TestCheckPrintsTheSchema(t *testing.T) {
	require.Equal(t, traces.Schema, inProcess(t, "check", "--schema"))
	check, _, err := rootCommand(nil).Find([]string{"check"})
	require.NoError(t, err)
	require.Empty(t, check.Annotations[simulating], "a plain build can check")
}

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
}

// TestTimelineIsWrittenWhereItIsAskedFor: beside the history, or to a file.
func TestTimelineIsWrittenWhereItIsAskedFor(t *testing.T) {
	text, folder := content(t, exampleHistory), t.TempDir()
	history := filepath.Join(folder, "history.jsonl")
	require.NoError(t, os.WriteFile(history, []byte(text), 0o600))
	for name, row := range map[string]struct {
		arguments []string
		stdin     string
		page      string
	}{
		"a file":         {[]string{history}, "", filepath.Join(folder, "timeline.html")},
		"a folder":       {[]string{folder, "-o", filepath.Join(folder, "of-folder.html")}, "", filepath.Join(folder, "of-folder.html")},
		"standard input": {[]string{"-", "-o", filepath.Join(folder, "of-stdin.html")}, text, filepath.Join(folder, "of-stdin.html")},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			code := run(append([]string{"timeline"}, row.arguments...), strings.NewReader(row.stdin), &stdout, &stderr)
			require.Zero(t, code, stderr.String())
			require.Contains(t, stdout.String(), row.page)
			require.Contains(t, content(t, row.page), "Content-Security-Policy")
			require.FileExists(t, filepath.Join(folder, "reads.html"))
		})
	}
}
