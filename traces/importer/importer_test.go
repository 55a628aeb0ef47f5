package importer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
	"github.com/watchsim/watchsim/traces/judge"
)

func TestArguments(t *testing.T) {
	files, err := Files([]string{"audit", "a=x/audit.log", "x/b.log", "etcdctl", "state.json", "./c=d.json", "kubectl", "a=w.json"})
	require.NoError(t, err)
	require.Equal(t, []File{{Audit, "a", "x/audit.log"}, {Audit, "b", "x/b.log"}, {Etcdctl, "state", "state.json"}, {Etcdctl, "c=d", "./c=d.json"}, {Kubectl, "a", "w.json"}}, files)
	for _, row := range []struct {
		arguments []string
		says      string
	}{
		{nil, "expected files to import, found none"},
		{[]string{"audit"}, "expected files to import, found none"},
		{[]string{"audit.log"}, `expected audit, kubectl, etcdctl or history before the first file, found "audit.log"`},
		{[]string{"audit", "a="}, `expected a file, or SERVER=FILE, found "a="`},
		{[]string{"audit", "=a"}, `expected a file, or SERVER=FILE, found "=a"`},
	} {
		_, err := Files(row.arguments)
		require.ErrorContains(t, err, row.says)
	}
}

func TestWhatCannotBeImported(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "f")
	require.NoError(t, os.WriteFile(file, []byte("{}"), 0o600))
	for _, row := range []struct {
		file File
		says string
	}{
		{File{Audit, "a", folder + "/none"}, folder + "/none: expected a file to import, found that it cannot be read: no such file or directory"},
		{File{Audit, "a", file}, file + ":1 (byte 0): expected an audit event"},
		{File{Etcdctl, "a", file}, file + ": expected the resource to be named, as it determines which keys of etcd are read, found no name"},
		{File{History, "a", file}, file + ": not a watchsim history"},
		{File{History, "a", "../testdata/history.jsonl"}, "../testdata/history.jsonl: expected a history that was imported or recorded from a real cluster"},
	} {
		_, _, _, err := Import([]File{row.file}, Options{HistoryOptions: HistoryOptions{ClockSkew: -1}})
		require.ErrorContains(t, err, row.says)
	}
}

// A name that no request has is noticed, such as a misspelt one.
func TestARequestedResourceIsMissed(t *testing.T) {
	for resource, says := range map[string][]string{
		"widget": {"all requests of the audit logs: none is for widget, but for widgets.example.watchsim.dev (17 requests)"},
		"":       nil,
	} {
		_, _, notes, err := Import(lostEvent[:2], Options{Resource: resource})
		require.NoError(t, err)
		require.Subset(t, notes, says)
		require.Equal(t, resource != "", len(notes) == 1 && strings.HasPrefix(notes[0], "all requests"), notes)
	}
}

// lostEvent has two audit logs, and the output of etcd.
var lostEvent = []File{{Audit, "a", "testdata/lost-event/audit-a.log"}, {Audit, "b", "testdata/lost-event/audit-b.log"},
	{Etcdctl, "state", "testdata/lost-event/state.json"}, {Etcdctl, "changes", "testdata/lost-event/changes.json"}}

// TestTheExamples imports the files of docs/debugging-stale-reads.md.
func TestTheExamples(t *testing.T) {
	for name, row := range map[string]struct {
		files   []File
		options Options
		skew    string
		outcome string
		check   func(t *testing.T, v judge.Verdict)
	}{
		"a lost event, by two audit logs and etcd": {
			lostEvent,
			Options{EtcdFrom: 2, HistoryOptions: HistoryOptions{ClockSkew: -1}}, "1s", "failed",
			func(t *testing.T, v judge.Verdict) {
				require.Equal(t, "Exact-state", v.Violations[0].Guarantee)
				require.Contains(t, v.Violations[0].Text, " on b")
			},
		},
		"two servers and RV 0, recorded": {
			[]File{{History, "r", "testdata/two-servers/recorded.jsonl"}}, Options{HistoryOptions: HistoryOptions{ClockSkew: -1}}, "", "passed",
			func(t *testing.T, v judge.Verdict) {
				require.Contains(t, v.Observations[0], "TimeTravel: ")
				require.Positive(t, v.Stale[1].StaleReads)
				require.Zero(t, v.Stale[0].StaleReads)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			header, h, _, err := Import(row.files, row.options)
			require.NoError(t, err)
			require.Equal(t, row.skew, header.Attributes[traces.AttributeSkew])
			require.Equal(t, "widgets.example.watchsim.dev", header.Attributes[traces.AttributeResource])
			_, err = time.Parse(time.RFC3339Nano, header.Attributes[traces.AttributeBegan])
			require.NoError(t, err)
			v := judge.RealCluster(h)
			require.EqualValues(t, row.outcome, v.Outcome, v.Report())
			row.check(t, v)
		})
	}
}

// historyOf returns the history of what a reader adds to a recording, and what was omitted.
func historyOf(read func(*Recording) error) (*model.History, []string, error) {
	recording := &Recording{}
	if err := read(recording); err != nil {
		return nil, nil, err
	}
	_, h, err := recording.History(HistoryOptions{AllLabels: true})
	return h, recording.Omitted(), err
}

// refusedOrRead requires that a reader returns an error with a position, or makes a valid
// history.
func refusedOrRead(t *testing.T, read func(*Recording) error) {
	recording := &Recording{}
	if err := read(recording); err != nil {
		require.Regexp(t, `^f:[0-9]+ \(byte [0-9]+\): (item [0-9]+: )?expected [^\n]*$`, err.Error())
		return
	}
	if _, _, err := recording.History(HistoryOptions{}); err != nil {
		require.ErrorContains(t, err, "expected sources that together make one history")
	}
}
