package recorder

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	v1 "github.com/watchsim/watchsim/cacher/examples/apiserver/api/v1"
	"github.com/watchsim/watchsim/cacher/examples/apiserver/server"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
	"github.com/watchsim/watchsim/traces/importer"
	"github.com/watchsim/watchsim/traces/judge"
)

// patience bounds every wait of these tests, with a large margin.
const patience = 60 * time.Second

// keep names a folder to keep the files of the tests in, as examples.
var keep = flag.String("keep", "", "folder in which the audit logs, etcd's output and histories are kept, one folder a test")

const resource = "widgets.example.watchsim.dev"

// cluster is a real etcd with real API servers, and the files that it writes.
type cluster struct {
	recorded int      // operations of the recorder
	notes    []string // of the last import
	t        *testing.T
	folder   string
	etcd     *server.Etcd
	client   *clientv3.Client
	state    int64 // the revision of state.json
	until    func(revision int64)
	files    []importer.File
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	etcd, err := server.StartEtcd()
	require.NoError(t, err)
	t.Cleanup(etcd.Stop)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd.Endpoint()}})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	c := &cluster{t: t, folder: t.TempDir(), etcd: etcd, client: client}
	if *keep != "" {
		c.folder = filepath.Join(*keep, t.Name())
		require.NoError(t, os.MkdirAll(c.folder, 0o755))
	}
	c.until = c.watchEtcd()
	return c
}

func (c *cluster) path(name string) string { return filepath.Join(c.folder, name) }

// start runs an API server with an audit log until the test ends, and waits until it
// is ready.
func (c *cluster) start(name string, cache server.WatchCache, etcd string) *rest.Config {
	c.t.Helper()
	policy := c.path("policy.yaml")
	require.NoError(c.t, os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: RequestResponse}]\n"), 0o600))
	log := c.path("audit-" + name + ".log")
	c.files = append(c.files, importer.File{Kind: importer.Audit, Server: name, Path: log})

	options := server.NewOptions()
	options.WatchCache, options.Standalone = cache, true
	options.Recommended.Etcd.StorageConfig.Transport.ServerList = []string{etcd}
	options.Recommended.SecureServing.BindPort = 0
	options.Recommended.Audit.PolicyFile = policy
	options.Recommended.Audit.LogOptions.Path = log
	options.Complete()
	require.NoError(c.t, options.Validate())
	s, err := server.New(options)
	require.NoError(c.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	c.t.Cleanup(func() {
		cancel()
		<-ended
	})
	config := &rest.Config{Host: "https://" + s.Address(), TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1, UserAgent: "agent/v1"}
	client, err := rest.HTTPClientFor(config)
	require.NoError(c.t, err)
	require.Eventually(c.t, func() bool {
		response, err := client.Get(config.Host + "/readyz")
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == 200
	}, patience, 20*time.Millisecond, "the server is not ready")
	return config
}

// line appends a value to a file, as etcdctl -w json prints it.
func (c *cluster) line(file string, value any) {
	text, err := json.Marshal(value)
	require.NoError(c.t, err)
	out, err := os.OpenFile(c.path(file), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(c.t, err)
	_, err = fmt.Fprintf(out, "%s\n", text)
	require.NoError(c.t, err)
	require.NoError(c.t, out.Close())
}

// watchEtcd writes etcd's state and all that it commits from then on to files, as etcdctl
// does. The returned function waits for a revision and ends it.
func (c *cluster) watchEtcd() (until func(revision int64)) {
	c.t.Helper()
	const prefix = "/registry/"
	state, err := c.client.Get(c.t.Context(), prefix, clientv3.WithPrefix())
	require.NoError(c.t, err)
	c.state = state.Header.Revision
	c.line("state.json", state)
	ctx, cancel := context.WithCancel(c.t.Context())
	c.t.Cleanup(cancel)
	reached := make(chan int64, 1024)
	var writer sync.WaitGroup
	writer.Go(func() {
		for response := range c.client.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(c.state+1)) {
			c.line("changes.json", response)
			reached <- response.Header.Revision
		}
	})
	c.files = append(c.files, importer.File{Kind: importer.Etcdctl, Server: "etcd", Path: c.path("state.json")},
		importer.File{Kind: importer.Etcdctl, Server: "etcd", Path: c.path("changes.json")})
	return func(revision int64) {
		for at := int64(0); at < revision; {
			select {
			case at = <-reached:
			case <-time.After(patience):
				require.Fail(c.t, "etcd's watch brings nothing")
			}
		}
		cancel()
		writer.Wait()
	}
}

// record saves the history of an observation, once etcd's watch has delivered a revision.
func (c *cluster) record(o *Observation, last int64) {
	c.t.Helper()
	c.until(last)
	o.Stop()
	header, h, notes, err := o.History()
	require.NoError(c.t, err)
	c.t.Logf("recorded: left out %v", notes)
	c.save("recorded.jsonl", header, h)
	c.recorded = len(h.Operations)
	c.files = append(c.files, importer.File{Kind: importer.History, Server: "recorder", Path: c.path("recorded.jsonl")})
}

// save writes a history to a file.
func (c *cluster) save(name string, header traces.Header, h *model.History) {
	c.t.Helper()
	file, err := os.Create(c.path(name))
	require.NoError(c.t, err)
	require.NoError(c.t, traces.WriteHistory(file, header, h))
	require.NoError(c.t, file.Close())
}

// verdict imports files and judges the history.
func (c *cluster) verdict(name string, files []importer.File) judge.Verdict {
	c.t.Helper()
	header, h, notes, err := importer.Import(files, importer.Options{Resource: resource, EtcdFrom: c.state + 1})
	require.NoError(c.t, err)
	c.t.Logf("%s: left out %v", name, notes)
	c.notes = notes
	c.save(name, header, h)
	v := judge.RealCluster(h)
	v.File, v.Attributes = name, header.Attributes
	c.t.Logf("\n%s", v.Report())
	return v
}

// writer writes widgets through one server.
type writer struct {
	t       *testing.T
	widgets dynamic.ResourceInterface
}

func newWriter(t *testing.T, config *rest.Config) writer {
	t.Helper()
	config = rest.CopyConfig(config)
	config.UserAgent = "controller/v1"
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	return writer{t, client.Resource(v1.Resource).Namespace("default")}
}

func (w writer) create(name string) *unstructured.Unstructured {
	w.t.Helper()
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1.GroupVersion.String(), "kind": "Widget",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"size": int64(1), "notes": []any{"confidential"}},
	}}
	created, err := w.widgets.Create(w.t.Context(), widget, metav1.CreateOptions{})
	require.NoError(w.t, err)
	return created
}

func (w writer) resize(widget *unstructured.Unstructured, size int64) *unstructured.Unstructured {
	w.t.Helper()
	changed := widget.DeepCopy()
	require.NoError(w.t, unstructured.SetNestedField(changed.Object, size, "spec", "size"))
	updated, err := w.widgets.Update(w.t.Context(), changed, metav1.UpdateOptions{})
	require.NoError(w.t, err)
	return updated
}

func (w writer) remove(name string) {
	w.t.Helper()
	require.NoError(w.t, w.widgets.Delete(w.t.Context(), name, metav1.DeleteOptions{}))
}
