package simrun

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/traces"
)

// fakeAPI is the minimal API server for discovery, lists and watches of pods. Package recorder
// tests the recorder against a real one.
type fakeAPI struct {
	*httptest.Server
	authorization atomic.Value // of the last request

	mu      sync.Mutex
	names   []string // of the pods, the first at RV 10
	changed chan struct{}
}

func startFakeAPI(t *testing.T) *fakeAPI {
	t.Helper()
	f := &fakeAPI{names: []string{"first"}, changed: make(chan struct{})}
	mux := http.NewServeMux()
	answer := func(path, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, body)
		})
	}
	answer("/api", `{"kind":"APIVersions","versions":["v1"]}`)
	answer("/apis", `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`)
	answer("/api/v1", `{"kind":"APIResourceList","groupVersion":"v1","resources":[`+
		`{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["list","watch"]}]}`)
	mux.HandleFunc("/api/v1/pods", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		f.authorization.Store(r.Header.Get("Authorization"))
		if r.URL.Query().Get("watch") == "" {
			f.list(w)
			return
		}
		f.watch(w, r)
	})
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	t.Cleanup(f.CloseClientConnections)
	return f
}

func pod(name string, rv int) string {
	return fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"default","name":%q,"uid":"uid-%s","resourceVersion":"%d"}}`, name, name, rv)
}

func (f *fakeAPI) list(w http.ResponseWriter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var items []string
	for i, name := range f.names {
		items = append(items, pod(name, 10+i))
	}
	fmt.Fprintf(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[%s]}`, 9+len(f.names), strings.Join(items, ","))
}

// watch sends what follows the resourceVersion, or the initial events of the watch.
func (f *fakeAPI) watch(w http.ResponseWriter, r *http.Request) {
	sent := 0
	if _, err := fmt.Sscan(r.URL.Query().Get("resourceVersion"), &sent); err == nil && sent > 0 {
		sent -= 9
	}
	initial := r.URL.Query().Get("sendInitialEvents") == "true"
	for {
		f.mu.Lock()
		for ; sent < len(f.names); sent++ {
			fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", pod(f.names[sent], 10+sent))
		}
		changed := f.changed
		f.mu.Unlock()
		if initial {
			fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", 9+sent)
			initial = false
		}
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// create adds a pod.
func (f *fakeAPI) create(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names = append(f.names, name)
	close(f.changed)
	f.changed = make(chan struct{})
}

// kubeconfig writes a kubeconfig for the server.
func (f *fakeAPI) kubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"c",`+
		`"clusters":[{"name":"c","cluster":{"server":"`+f.URL+`"}}],"users":[{"name":"u","user":{"token":"s3cr3t"}}],`+
		`"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`), 0o600))
	return path
}

// patience bounds every wait of these tests, far above the usual time.
const patience = 60 * time.Second

// saw waits until the history in a file contains a pod.
func saw(t *testing.T, path, name string) {
	t.Helper()
	require.Eventually(t, func() bool {
		content, err := os.ReadFile(path)
		return err == nil && strings.Contains(string(content), `"name":"`+name+`"`)
	}, patience, 20*time.Millisecond, "the history does not tell of the pod %s", name)
}

// recording is simrun recording a server, once it has written two pods to a file.
func recording(t *testing.T) (api *fakeAPI, c *exec.Cmd, out string, stderr *bytes.Buffer) {
	t.Helper()
	api, out = startFakeAPI(t), filepath.Join(t.TempDir(), "history.jsonl")
	c, _, stderr = command(t, "record", "--kubeconfig", api.kubeconfig(t), "--resource", "pods", "--duration", "10m", "-o", out)
	require.NoError(t, c.Start())
	saw(t, out, "first")
	api.create("second")
	saw(t, out, "second")
	return api, c, out, stderr
}

func TestWhatIsRecordedCanBeJudged(t *testing.T) {
	api, c, out, stderr := recording(t)
	api.create("third")
	require.NoError(t, c.Process.Signal(os.Interrupt))
	require.Equal(t, exitPassed, exitCode(t, c.Wait()), stderr)

	whole := content(t, out)
	require.NotContains(t, whole, "s3cr3t")
	require.NotContains(t, whole, "unfinished")
	left, err := filepath.Glob(filepath.Join(filepath.Dir(out), ".*"))
	require.NoError(t, err)
	require.Empty(t, left, "files beside the history")

	stdout := simrunExits(t, exitPassed, "check", out)
	require.NotContains(t, stdout, "cut short")

	// A recording can be a source of another history.
	stdout = simrunExits(t, exitPassed, "import", "history", out)
	header, h, err := traces.ReadValidHistory(strings.NewReader(stdout))
	require.NoError(t, err)
	require.Equal(t, "pods", header.Attributes["resource"])
	require.GreaterOrEqual(t, len(h.Truth.Changes), 2)
}

// TestRecordNeedsNoKubeconfig asks servers that are named on the command line, with a
// token and without.
func TestRecordNeedsNoKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nowhere/kubeconfig")
	api := startFakeAPI(t)
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("t0ken"), 0o600))
	for name, row := range map[string]struct {
		arguments     []string
		server, token string
	}{
		"a URL":             {[]string{"--server", api.URL}, strings.TrimPrefix(api.URL, "http://"), ""},
		"a name and a URL":  {[]string{"--server", "a=" + api.URL}, "a", ""},
		"a URL and a token": {[]string{"--server", "a=" + api.URL, "--token-file", token}, "a", "Bearer t0ken"},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "history.jsonl")
			simrunExits(t, exitPassed, append([]string{"record", "--resource", "pods", "--duration", "500ms", "-o", out}, row.arguments...)...)
			require.Contains(t, content(t, out), `"server":"`+row.server+`"`)
			require.Equal(t, row.token, api.authorization.Load())
		})
	}
}

func TestWhatWasRecordedBeforeAKillIsThere(t *testing.T) {
	_, c, out, _ := recording(t)
	require.NoError(t, c.Process.Kill())
	require.Error(t, c.Wait())

	stdout := simrunExits(t, exitPassed, "check", out)
	require.Contains(t, stdout, "cut short: recorded until 20")

	code, _, notes := simrun(t, "import", "history", out, "-o", filepath.Join(t.TempDir(), "imported.jsonl"))
	require.Equal(t, exitPassed, code, notes)
	require.Contains(t, notes, "left out: 1 history that ends early, at 20")
}

func TestRecordRefusesBadUsage(t *testing.T) {
	kubeconfig := startFakeAPI(t).kubeconfig(t)
	t.Setenv("KUBECONFIG", "/nowhere/kubeconfig")
	for says, arguments := range map[string]string{
		"--resource: expected a resource to record":                                                                                                         "record",
		"expected --duration above 0 and --probe-every of at least 0, found 0s and 10s":                                                                     "record --resource pods --duration 0s",
		"--kubeconfig: expected a cluster and credentials, found none that can be used":                                                                     "record --resource pods --kubeconfig /nowhere/kubeconfig",
		"--server: expected URL or NAME=URL, with a name of its own":                                                                                        "record --resource pods --server https://a:b@c --kubeconfig " + kubeconfig,
		"-o: expected a place that can be written to, found that /nowhere/history.jsonl cannot: no such file or directory":                                  "record --resource pods -o /nowhere/history.jsonl --kubeconfig " + kubeconfig,
		"expected a cluster to record, found no kubeconfig and no service account of a pod; give --kubeconfig FILE, or --server URL with --token-file FILE": "record --resource pods",
		"--token-file: expected a file with a bearer token: open /nowhere/token: no such file or directory":                                                 "record --resource pods --token-file /nowhere/token --server https://a",
		"--token-file: expected --server URL beside it, found none":                                                                                         "record --resource pods --token-file " + kubeconfig,
		"expected apiserver to know the resource \"parrots\"":                                                                                               "record --resource parrots -o parrots.jsonl --kubeconfig " + kubeconfig,
	} {
		refused(t, says, strings.Fields(arguments)...)
	}
}
