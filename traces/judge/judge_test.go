package judge

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/traces"
)

const exampleFile = "../testdata/history.jsonl"

func config() linearizability.Config { return linearizability.DefaultConfig() }

func example(t testing.TB) string {
	text, err := os.ReadFile(exampleFile)
	require.NoError(t, err)
	return string(text)
}

// wrong returns the example with one event whose object was never stored.
func wrong(t testing.TB) string {
	text := strings.Replace(example(t), `"type":"MODIFIED","rv":5,"object":{"namespace":"default","name":"a"`, `"type":"MODIFIED","rv":5,"object":{"namespace":"default","name":"q"`, 1)
	require.NotEqual(t, example(t), text)
	return text
}

// unknown returns the example without the truth.
func unknown(t testing.TB) string {
	var kept []string
	for line := range strings.Lines(example(t)) {
		if !strings.Contains(line, `"kind":"change"`) && !strings.Contains(line, `"kind":"compaction"`) {
			kept = append(kept, line)
		}
	}
	text := strings.Join(kept, "")
	return strings.Replace(text, `"revision":7,"records":40`, `"revision":0,"records":35`, 1)
}

func fromStdin(text string) Verdict { return File(Stdin, strings.NewReader(text), config()) }

func TestVerdicts(t *testing.T) {
	for _, row := range []struct {
		name, text string
		outcome    linearizability.Outcome
		severity   Severity
		says       []string
	}{
		{"passed", example(t), linearizability.Passed, Passed, []string{
			"PASSED  standard input\n", "  seed 7 of target kubernetes; 0.1 recorded seconds judged in ", " 10 operations, 6 streams,", "\n  in it: 3 writes (at least 1), "}},
		{"failed", wrong(t), linearizability.Failed, Failed, []string{
			"FAILED  standard input\n", "\n  Faithful: reflector received MODIFIED default/q (RV 5) instead of MODIFIED default/a (RV 5);", "\n    Client reflector opened stream 5 on apiserver-0 at 0.020s for"}},
		{"no truth", unknown(t), linearizability.Inconclusive, Inconclusive, []string{
			"INCONCLUSIVE  standard input\n", "  the history does not say what etcd committed, which every rule needs\n"}},
		{"vacuous", `{"format":"watchsim.history","version":1}` + "\n" + `{"kind":"end","data":{"healed":0,"end":5,"revision":1,"records":0}}` + "\n",
			linearizability.Inconclusive, Inconclusive, []string{"expected at least 1 write in the history, found 0; expected at least 1 event in the history"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := fromStdin(row.text)
			require.Empty(t, v.Error)
			require.Equal(t, row.outcome, v.Outcome)
			require.Equal(t, row.severity, v.Severity())
			for _, says := range row.says {
				require.Contains(t, v.Report(), says)
			}
			for _, violation := range v.Violations {
				require.NotEmpty(t, violation.Guarantee)
				require.Greater(t, len(violation.Explanation), 1)
			}
			for line := range strings.Lines(v.Report()) {
				require.LessOrEqual(t, len(line)-1, explain.Columns, line)
			}
			text, err := json.Marshal(v)
			require.NoError(t, err)
			var object map[string]any
			require.NoError(t, json.Unmarshal(text, &object))
			require.EqualValues(t, row.outcome, object["verdict"])
			require.NotContains(t, object, "error")
			require.Len(t, object["violations"], len(v.Violations))
		})
	}
}

// packedText compresses a text.
func packedText[W io.WriteCloser](t *testing.T, compressor func(io.Writer) W, text string) string {
	var file bytes.Buffer
	w := compressor(&file)
	_, err := io.WriteString(w, text)
	require.NoError(t, errors.Join(err, w.Close()))
	return file.String()
}

// folder makes a folder, and writes the files in it.
func folder(t *testing.T) (dir string, write func(path, text string) string) {
	dir = t.TempDir()
	return dir, func(path, text string) string {
		path = filepath.Join(dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
}

// A history in a run's folder must contain as much as the run had to.
func TestPlacesThatHistoriesAreIn(t *testing.T) {
	dir, write := folder(t)
	zipped := packedText(t, gzip.NewWriter, example(t))

	write("run/history.jsonl", example(t))
	write("run.zst/history.jsonl.zst", packedText(t, traces.NewWriter, example(t)))
	write("run.zst/verdict.json", `{"minimum":{"writes":1000}}`)
	write("packed.jsonl.zst", packedText(t, traces.NewWriter, example(t)))
	write("run/verdict.json", `{"minimum":{"writes":1000}}`)
	write("folder/history.jsonl", example(t))
	write("zipped/history.jsonl.gz", zipped)
	write("run.gz/verdict.json", `{"minimum":{"writes":1000}}`)
	write("older/history.jsonl", example(t))
	write("older/verdict.json", `{"verdict":"passed"}`)
	write("run.gz/history.jsonl.gz", zipped)
	for path, outcome := range map[string]linearizability.Outcome{
		write("plain", example(t)):              linearizability.Passed,
		write("any.name", zipped):               linearizability.Passed,
		filepath.Join(dir, "folder"):            linearizability.Passed,
		filepath.Join(dir, "older"):             linearizability.Passed,
		filepath.Join(dir, "zipped"):            linearizability.Passed,
		filepath.Join(dir, "run"):               linearizability.Inconclusive,
		filepath.Join(dir, "run.gz"):            linearizability.Inconclusive,
		filepath.Join(dir, "run.zst"):           linearizability.Inconclusive,
		filepath.Join(dir, "packed.jsonl"):      linearizability.Passed,
		filepath.Join(dir, "packed.jsonl.zst"):  linearizability.Passed,
		filepath.Join(dir, "packed.jsonl.gz"):   linearizability.Passed,
		filepath.Join(dir, "run/history.jsonl"): linearizability.Passed,
	} {
		v := File(path, nil, config())
		require.Empty(t, v.Error, path)
		require.Equal(t, outcome, v.Outcome, "%s: %s", path, v.Reason)
	}

	write("narrow/history.jsonl", example(t))
	write("narrow/verdict.json", `{"window":4,"refreshBound":90000000000}`)
	own := config()
	own.Window, own.RefreshBound = 4, 90*time.Second
	for path, want := range map[string]linearizability.Config{"narrow": own, "older": config()} {
		read, err := Read(filepath.Join(dir, path), nil)
		require.NoError(t, err)
		got := read.Limits(config())
		require.Equal(t, want.Window, got.Window, "the window that the caches of %s had", path)
		require.Equal(t, want.RefreshBound, got.RefreshBound, path)
	}
}

// TestUnreadableFiles requires one sentence that begins with the path.
func TestUnreadableFiles(t *testing.T) {
	dir, write := folder(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	whole, zipped := example(t), packedText(t, gzip.NewWriter, example(t))
	write("strange/history.jsonl", example(t))
	write("strange/verdict.json", "no")
	for path, says := range map[string]string{
		filepath.Join(dir, "nowhere"):                                              "expected a history, found that it cannot be read: no such file or directory",
		filepath.Join(dir, "empty"):                                                "expected the file history.jsonl in the folder, found none; give the folder of a run, or the path of a history",
		filepath.Join(dir, "strange"):                                              "/verdict.json: expected the verdict of the run as JSON, found something else: invalid character",
		write("nothing", ""):                                                       "not a watchsim history: the file is empty",
		write("text", "hello\n"):                                                   "not a watchsim history: line 1 is not a header that names a format",
		write("newer", `{"format":"watchsim.history","version":99}`):               "the history is of a newer version, 99 on line 1: this build reads up to version",
		write("half", whole[:len(whole)-20]):                                       "the history is truncated: line 42 ends in the middle of a record",
		write("short", strings.Join(strings.SplitAfter(whole, "\n")[:10], "")):     "the history is truncated: it ends after line 10 without an end record",
		write("time", strings.Replace(whole, `"return":3000000`, `"return":5`, 1)): "the history holds a bad record: line 9, operation 1, field return: expected a time from 1000000, its call",
		write("zst", "\x28\xb5\x2f\xfd and so on"):                                 "the compressed file is broken after 0 bytes of its content: ",
		write("half.zst", packedText(t, traces.NewWriter, whole)[:200]):            "the history is truncated: the compressed file ends in the middle of line 1: unexpected EOF",
		write("gz", "\x1f\x8b and so on"):                                          "the compressed file is broken after 0 bytes of its content: expected gzip, as its first bytes say: gzip: invalid header",
		write("half.gz", zipped[:len(zipped)/2]):                                   "unexpected EOF",
	} {
		v := File(path, nil, config())
		require.True(t, strings.HasPrefix(v.Error, path), v.Error)
		require.Contains(t, v.Error, says)
		require.NotContains(t, v.Error, "\n")
		require.Equal(t, Unreadable, v.Severity())
		require.Empty(t, v.Outcome)
	}
}
