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

// TestCheckAgreesWithTheRun requires the same verdicts as the runs'.
func TestCheckAgreesWithTheRun(t *testing.T) {
	for _, target := range []string{targets[0].Name, "forgetful"} {
		c, stdout, stderr := command(t, "--seed", "7", "--target", target, "-v")
		code := exitCode(t, c.Run())
		require.Contains(t, stdout.String(), "seed 7", stderr.String())
		for line := range strings.Lines(stdout.String()) {
			if !strings.Contains(line, "artifacts in") && !strings.Contains(line, "hash") {
				require.LessOrEqual(t, len(strings.TrimRight(line, "\n")), 100, line)
			}
		}
		folders, err := filepath.Glob(filepath.Join(c.Dir, "out", "*"))
		require.NoError(t, err)
		require.Len(t, folders, 1)
		run, again := verdictIn(t, folders[0]), judge.Verdict{}
		code2, object, notes := simrun(t, "check", "--json", folders[0])
		require.Equal(t, code, code2, notes)
		require.NoError(t, json.Unmarshal([]byte(object), &again))
		require.Equal(t, run.Outcome, again.Outcome)
		require.Len(t, again.Violations, len(run.Violations))
		for i := range run.Violations {
			require.Equal(t, run.Violations[i].Text, again.Violations[i].Text)
			if len(run.Violations[i].Explanation) > 0 {
				require.Equal(t, run.Violations[i].Explanation, again.Violations[i].Explanation)
				require.Contains(t, stdout.String(), "\n    "+run.Violations[i].Explanation[0][:20])
			}
		}
		require.Equal(t, target == "forgetful", len(run.Violations) > 0)
	}
}
