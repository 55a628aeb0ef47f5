package simtest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/judge"
)

// hiding is a proxy before an API server that withholds the events of an object.
type hiding struct{ next http.RoundTripper }

func (h hiding) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := h.next.RoundTrip(request)
	if err == nil && request.URL.Query().Get("watch") != "" {
		response.Body = &hidden{ReadCloser: response.Body}
	}
	return response, err
}

// hidden is the body of a watch, one event per line.
type hidden struct {
	io.ReadCloser
	line []byte
	left []byte // of what may be shown
}

func (h *hidden) Read(p []byte) (int, error) {
	for len(h.left) == 0 {
		one := make([]byte, 1)
		if _, err := io.ReadFull(h.ReadCloser, one); err != nil {
			return 0, err
		}
		if h.line = append(h.line, one[0]); one[0] != '\n' {
			continue
		}
		if !strings.Contains(string(h.line), `"name":"hidden"`) {
			h.left = h.line
		}
		h.line = nil
	}
	n := copy(p, h.left)
	h.left = h.left[n:]
	return n, nil
}

func TestHides(t *testing.T) {
	inside(t, simtest.Config{}, func(t *simtest.T, c *simtest.Cluster) {
		maps := c.Client().CoreV1().ConfigMaps("default")
		c.Go("watcher", func(ctx context.Context, config *rest.Config) error {
			config.AcceptContentTypes = "application/json" // one event per line
			recorded := config.WrapTransport               // transports wrapped later are above it
			config.WrapTransport = func(next http.RoundTripper) http.RoundTripper { return recorded(hiding{next}) }
			factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
			factory.Core().V1().ConfigMaps().Informer()
			factory.Start(ctx.Done())
			<-ctx.Done()
			factory.Shutdown()
			return nil
		})
		time.Sleep(time.Second)
		for _, name := range []string{"shown", "hidden", "last"} {
			_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
		time.Sleep(10 * time.Second) // goroutines stall for up to three
	})
}

// Clients' observations are compared with etcd's commits, and can be inspected later.
func TestClientsAreJudged(t *testing.T) {
	dir := t.TempDir()
	out := fails(t, dir, "TestHides", "-simtest.seeds=1", "-test.artifacts", "-test.outputdir="+dir)
	require.Contains(t, out, "The API servers broke a guarantee of configmaps:")
	require.Contains(t, out, "Reliable")
	require.Contains(t, out, "watcher never received ADDED default/hidden")

	path, _ := only(t, dir, "_artifacts", "*", "seed-1-configmaps.jsonl")
	verdict := judge.File(path, nil, linearizability.DefaultConfig())
	require.Equal(t, linearizability.Failed, verdict.Outcome, verdict.Report())

	_, log := only(t, dir, "_artifacts", "*", "seed-1-log.txt")
	require.Regexp(t, `s  apiserver-0 +"`, string(log), "with simulated times and the names of processes")
}

// TestAbandonsAWatch has a client that leaves an open watch unread in both of its lives, of which one is over, one that closes its watch, one that reads from it, and one that may
// just be busy.
func TestAbandonsAWatch(t *testing.T) {
	inside(t, simtest.Config{}, func(t *simtest.T, c *simtest.Cluster) {
		opens := func(space string, then func(watch.Interface)) func(context.Context, *rest.Config) error {
			return func(ctx context.Context, config *rest.Config) error {
				opened, err := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(space).Watch(ctx, metav1.ListOptions{})
				if err == nil {
					then(opened)
					<-ctx.Done()
				}
				return err
			}
		}
		c.Go("forgetful", opens("default", func(watch.Interface) {}))
		c.Go("tidy", opens("default", watch.Interface.Stop))
		c.Go("attentive", opens("quiet", func(opened watch.Interface) {
			for range opened.ResultChan() {
			}
		}))
		write := func(names ...string) { // client-go reads one event ahead
			for _, name := range names {
				_, err := c.Client().CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
				require.NoError(t, err)
				time.Sleep(5 * time.Second)
			}
		}
		time.Sleep(5 * time.Second)
		write("a", "b")
		require.NoError(t, c.CrashProgram("forgetful"))
		require.NoError(t, c.StartProgram("forgetful"))
		time.Sleep(5 * time.Second)
		write("c", "d")
		time.Sleep(2 * time.Minute)
		c.Go("busy", opens("default", func(watch.Interface) {}))
		time.Sleep(5 * time.Second)
		write("e", "f")
	})
}

// A watch that nobody reads any more is said, but not one that was closed or is read, one of a life that is over, or one that was read not long ago.
func TestAbandonedWatchesAreSaid(t *testing.T) {
	out := fails(t, "", "TestAbandonsAWatch", "-simtest.seeds=1")
	require.Equal(t, 1, strings.Count(out, "opened a watch"), out)
	require.Regexp(t, `forgetful \(life 2\) opened a watch of configmaps at 1\d\.\d+s, has read nothing from it since 1\d\.\d+s, and has not closed it: apiserver-0 keeps it open for nobody`, out)
}
