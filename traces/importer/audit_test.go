package importer

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
)

// listed is the response of an entry.
const listed = `{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[` +
	`{"metadata":{"namespace":"default","name":"a","uid":"u","resourceVersion":"5"},"spec":{"nodeName":"n1"}}]}`

// auditLine returns an entry of a log, with fields replaced in turn: old, new, old, new.
func auditLine(replace ...string) string {
	entry := `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","stage":"ResponseComplete",` +
		`"requestURI":"/api/v1/namespaces/default/pods?resourceVersion=0","verb":"list","user":{"username":"joe"},` +
		`"sourceIPs":["10.0.0.1"],"userAgent":"kubectl/v1.37","objectRef":{"resource":"pods","name":""},` +
		`"responseStatus":{"code":200},"responseObject":` + listed + `,` +
		`"requestReceivedTimestamp":"2026-03-01T10:00:00.000000Z","stageTimestamp":"2026-03-01T10:00:00.250000Z"}`
	return strings.NewReplacer(replace...).Replace(entry) + "\n"
}

// readAudit returns the history of a log about one resource, and what was omitted.
func readAudit(text string) (*model.History, []string, error) {
	return historyOf(func(recording *Recording) error {
		r := auditReader{Recording: recording}
		if err := r.Read("a", "f", strings.NewReader(text)); err != nil {
			return err
		}
		return r.OneResource()
	})
}

func TestAListIsRead(t *testing.T) {
	h, left, err := readAudit(auditLine())
	require.NoError(t, err)
	require.Empty(t, left)
	require.Len(t, h.Operations, 1)
	op := h.Operations[0]
	require.Equal(t, model.Scope{Namespace: "default"}, op.Scope)
	require.Equal(t, "joe/kubectl@10.0.0.1", op.Client)
	require.Equal(t, [4]int64{0, 250e6 + 999, 0, 7}, [4]int64{op.Call, op.Return, op.RV, op.ResultRV})
	require.Equal(t, "n1", op.Objects[0].Node)
	require.Equal(t, h.Truth.Changes[0].Object, op.Objects[0])
}

// Two requests in the same microsecond may have overlapped.
func TestTimesOfALogAreCutOff(t *testing.T) {
	at := func(revision string) string {
		return auditLine("10:00:00.250000Z", "10:00:00.000000Z", `"resourceVersion":"7"`, `"resourceVersion":"`+revision+`"`)
	}
	h, _, err := readAudit(at("8") + at("7"))
	require.NoError(t, err)
	require.Len(t, h.Operations, 2)
	require.Less(t, h.Operations[1].Call, h.Operations[0].Return)
}

func TestWritesAreRead(t *testing.T) {
	object := `{"kind":"Pod","metadata":{"namespace":"default","name":"a","uid":"u","resourceVersion":"%d"},"spec":{"x":%d}}`
	write := func(verb, uri, code, answer, sent, at string) string {
		return auditLine("/api/v1/namespaces/default/pods?resourceVersion=0", uri, `"list"`, `"`+verb+`"`, `"code":200`, `"code":`+code,
			"10:00:00", "10:00:"+at, `"responseObject":`+listed, `"requestObject":`+sent+`,"responseObject":`+answer)
	}
	pods, pod := "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/pods/a"
	h, left, err := readAudit(write("create", pods, "201", fmt.Sprintf(object, 5, 1), "{}", "01") +
		write("update", pod, "200", fmt.Sprintf(object, 6, 2), fmt.Sprintf(object, 5, 2), "02") +
		write("update", pod, "200", fmt.Sprintf(object, 6, 2), fmt.Sprintf(object, 6, 2), "03") + // changes nothing, so it reads
		write("patch", pod+"/status", "200", fmt.Sprintf(object, 8, 3), "{}", "04") +
		write("update", pod, "409", `{"kind":"Status"}`, fmt.Sprintf(object, 6, 9), "05") +
		write("patch", pod+"?dryRun=All", "200", fmt.Sprintf(object, 8, 3), "{}", "06") +
		write("delete", pod, "200", `{"kind":"Status"}`, "{}", "07"))
	require.NoError(t, err)
	var kinds []string
	for _, op := range h.Operations {
		kinds = append(kinds, fmt.Sprintf("%s %d->%d", op.Kind, op.Precondition, op.ResultRV))
	}
	require.Equal(t, []string{"create 0->5", "update 5->6", "get 0->6", "update 0->8"}, kinds)
	require.Len(t, h.Truth.Changes, 3)
	require.Equal(t, []string{
		"1 deletes whose response has no resourceVersion: finding their deletions requires all changes and all deletes",
		"1 dry runs",
		"1 refused writes, and gets that found nothing: judging them requires all changes, from `etcdctl get` and `etcdctl watch`",
	}, left)
}

// TestWhatALogCannotTellIsCounted checks what is omitted, and why.
func TestWhatALogCannotTellIsCounted(t *testing.T) {
	list := auditLine()
	metadata := list[:strings.Index(list, `,"responseObject"`)] + list[strings.Index(list, `,"requestReceived`):]
	for name, row := range map[string]struct{ text, says string }{
		"a level without responses":     {metadata, omittedBodies},
		"a truncated entry":             {auditLine(`"userAgent"`, `"annotations":{"audit.k8s.io/truncated":"true"},"userAgent"`), omittedBodies},
		"a watch":                       {auditLine("pods?", "pods?watch=true&", `"list"`, `"watch"`), omittedWatches},
		"a selector with !=":            {auditLine("pods?", "pods?labelSelector=a!%3Db&"), "requests with selectors that a history cannot hold"},
		"a collection's deletion":       {auditLine(`"list"`, `"deletecollection"`), omittedCollections},
		"a subresource":                 {auditLine("pods?", "pods/a/log?", `"list"`, `"get"`), omittedSubresource},
		"a page without its first page": {auditLine("pods?", "pods?continue=x&"), omittedPages},
		"a truncated file":              {list + list[:200], "the file ends in the middle of a value that begins at line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			h, left, err := readAudit(row.text)
			require.NoError(t, err)
			require.Len(t, left, 1)
			require.Contains(t, left[0], row.says)
			require.Empty(t, h.Streams)
		})
	}
	h, left, err := readAudit(auditLine(`"stage":"ResponseComplete"`, `"stage":"RequestReceived"`) + auditLine("/api/v1/namespaces/default/pods?resourceVersion=0", "/healthz"))
	require.NoError(t, err)
	require.Empty(t, left)
	require.Empty(t, h.Operations)
}

// TestEachRequestIsTold includes requests that are omitted.
func TestEachRequestIsTold(t *testing.T) {
	var lines []string
	r := auditReader{Recording: &Recording{}, Tell: func(told *Told) {
		lines = append(lines, fmt.Sprintf("%s %d %d->%d %t %d: %s", told.AuditID, told.Code, told.RV, told.Op.ResultRV, told.Watch, told.Return-told.Call, told.Omitted))
	}}
	log := auditLine(`"stage"`, `"auditID":"1","stage"`) + auditLine(`"stage"`, `"auditID":"2","stage"`, "pods?", "pods?labelSelector=a!%3Db&") +
		auditLine("pods?", "pods?watch=true&", `"list"`, `"watch"`) + auditLine("pods?", "pods?watch=true&", `"list"`, `"watch"`, `"code":200`, `"code":410`) +
		auditLine("/pods?", "/services?")
	require.NoError(t, r.Read("a", "f", strings.NewReader(log)))
	require.Equal(t, []string{
		"1 200 0->7 false 250000999: ", "2 200 0->0 false 250000999: " + OmittedSelectors,
		" 200 0->0 true 250000999: " + omittedWatches, " 410 0->0 true 250000999: ",
	}, lines)
}

func TestATableIsRead(t *testing.T) {
	h, _, err := readAudit(auditLine(`"kind":"PodList"`, `"kind":"Table"`, `"items":[`, `"rows":[{"object":`, `}]},"request`, `}}]},"request`,
		`"spec":{"nodeName":"n1"}`, `"kind":"PartialObjectMetadata"`))
	require.NoError(t, err)
	require.Equal(t, "unknown@5", h.Operations[0].Objects[0].Value)
}

// A watch that requests tables has the end of its initial events in the row of a bookmark.
func TestAnEventAsATableIsRead(t *testing.T) {
	for _, row := range []struct {
		text string
		want model.Event
	}{
		{`{"type":"BOOKMARK","object":{"kind":"Table","metadata":{"resourceVersion":"7"},"rows":[{"object":{"kind":"PartialObjectMetadata","metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}}]}}`,
			model.Event{Type: model.Bookmark, RV: 7, InitialEnd: true}},
		{`{"type":"ADDED","object":{"kind":"Table","metadata":{"resourceVersion":"7"},"rows":[{"object":{"kind":"PartialObjectMetadata","metadata":{"name":"a","namespace":"red","resourceVersion":"7"}}}]}}`,
			model.Event{Type: model.Added, RV: 7, Object: &model.Object{Namespace: "red", Name: "a", RV: 7}}},
	} {
		got, kind, err := Reducer{}.Event([]byte(row.text))
		require.NoError(t, err)
		require.Equal(t, "PartialObjectMetadata", kind)
		require.Equal(t, row.want, got)
	}
}

func TestBadLogsAreRefusedWithAPosition(t *testing.T) {
	for name, row := range map[string]struct{ text, says string }{
		"an empty log":       {"\n", "f: expected audit events, found none"},
		"no audit event":     {auditLine() + `{"kind":"Pod"}`, `f:2 (byte ` + fmt.Sprint(len(auditLine())) + `): expected an audit event of the API group audit.k8s.io, found the kind "Pod" of ""`},
		"a bad RV requested": {auditLine("Version=0", "Version=x"), `f:1 (byte 0): expected a resourceVersion that is a number of at most 63 bits, found "x"`},
		"a bad RV returned":  {auditLine(`"resourceVersion":"7"`, `"resourceVersion":"-7"`), `f:1 (byte 0): expected a resourceVersion that is a number of at most 63 bits, found "-7"`},
		"a bad item":         {auditLine(`"resourceVersion":"5"`, `"resourceVersion":5`), `f:1 (byte 0): item 1: expected an object, found a JSON number in the field "metadata.resourceVersion"`},
		"a list without RV":  {auditLine(`"resourceVersion":"7"`, ``), `f:1 (byte 0): expected a list with a resourceVersion, found the kind "PodList" without one`},
		"a field of a type":  {auditLine(`"verb":"list"`, `"verb":5`), `expected another type of value in the field verb, found a JSON number`},
		"several resources":  {auditLine() + auditLine("/pods", "/secrets"), "expected the resource to be named, as a history is about one, found several: pods (1 request), secrets (1 request)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := readAudit(row.text)
			require.ErrorContains(t, err, row.says)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

// FuzzAudit reads arbitrary input. The reader refuses it with a position, or makes a
// valid history.
func FuzzAudit(f *testing.F) {
	f.Add(auditLine())
	f.Add(auditLine(`"list"`, `"watch"`, `"code":200`, `"code":410`, "pods?", "pods?watch=1&"))
	f.Add(auditLine(`"list"`, `"create"`, `"kind":"PodList"`, `"kind":"Pod"`))
	f.Add(auditLine(`"list"`, `"delete"`) + auditLine(`"list"`, `"get"`))
	f.Add(auditLine("default/pods?", "default/pods?limit=1&") + auditLine("pods?", "pods?continue=x&"))
	f.Fuzz(func(t *testing.T, text string) {
		refusedOrRead(t, func(recording *Recording) error {
			r := auditReader{Recording: recording}
			return r.Read("a", "f", strings.NewReader(text))
		})
	})
}

// TestARequestOfAHistoryAndALogCountsOnce imports the log of a server and the recording of
// its client.
func TestARequestOfAHistoryAndALogCountsOnce(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	began := time.Date(2026, 3, 1, 9, 59, 59, 900e6, time.UTC).UnixNano()
	recorded := func(server string) File {
		r := &Recording{Resource: "pods"}
		_, err := r.AddOperation(model.Operation{Client: "watcher", Server: server, Kind: model.List, Call: began, Return: began + 500e6,
			Scope: model.Scope{Namespace: "default"}, ResultRV: 7, Objects: []model.Object{{Namespace: "default", Name: "a", UID: "u", RV: 5}}})
		require.NoError(t, err)
		header, h, err := r.History(HistoryOptions{})
		require.NoError(t, err)
		var file bytes.Buffer
		require.NoError(t, traces.WriteHistory(&file, header, h))
		text := file.String()
		if server == "b" { // one that is compressed
			text = string(zipped(t, text))
		}
		return File{History, "h", write("of-"+server+".jsonl", text)}
	}
	for name, row := range map[string]struct {
		log    string
		server string
		skew   time.Duration
		want   int
	}{
		"the same":                            {auditLine(), "a", 0, 1},
		"the same under another name":         {auditLine(), "apiserver", 0, 1},
		"requested twice":                     {auditLine() + auditLine(), "a", 0, 2},
		"another response":                    {auditLine(`"resourceVersion":"7"`, `"resourceVersion":"8"`), "a", 0, 2},
		"another object":                      {auditLine(`"name":"a"`, `"name":"b"`, `"resourceVersion":"5"`, `"resourceVersion":"6"`), "a", 0, 2},
		"another time":                        {auditLine("10:00:00", "10:00:01"), "a", 0, 2},
		"another time, within the clock skew": {auditLine("10:00:00", "10:00:01"), "a", time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, h, notes, err := Import([]File{recorded(row.server), {Audit, "a", write("audit.log", row.log)}}, Options{HistoryOptions: HistoryOptions{ClockSkew: row.skew}})
			require.NoError(t, err)
			require.Len(t, h.Operations, row.want)
			require.Equal(t, "watcher", h.Operations[0].Client)
			require.Equal(t, row.want == 1 || name == "requested twice", slices.Contains(notes, "1 "+omittedMerged))
		})
	}
	_, h, _, err := Import([]File{recorded("a"), recorded("b"), {Audit, "b", write("audit.log", auditLine())}}, Options{})
	require.NoError(t, err)
	require.Len(t, h.Operations, 2, "the log is that of the second server, whose name is known")
	require.Equal(t, "watcher", h.Operations[1].Client)
}
