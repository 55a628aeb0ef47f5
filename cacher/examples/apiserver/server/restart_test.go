package server

import (
	"bytes"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/dynamicinformer"

	v1 "github.com/watchsim/watchsim/cacher/examples/apiserver/api/v1"
)

// TestRestart stops a server under an informer, compacts etcd, and starts another server at the
// same address: the informer resumes, and compacted resourceVersions are rejected.
func TestRestart(t *testing.T) {
	for _, watchCache := range []WatchCache{Watchsim, Kubernetes, Off} {
		t.Run(string(watchCache), func(t *testing.T) {
			t.Parallel()
			etcd := startEtcd(t)
			s := start(t, watchCache, etcd, nil)
			first := s.create("n", "first", "", nil)
			second := s.create("n", "second", "", nil)
			s.remove(s.create("n", "forgotten", "", nil))
			factory := dynamicinformer.NewDynamicSharedInformerFactory(s.dynamic, 0)
			store := factory.ForResource(v1.Resource).Informer().GetStore()
			factory.Start(t.Context().Done())
			factory.WaitForCacheSync(t.Context().Done())
			require.ElementsMatch(t, []string{"n/first", "n/second"}, store.ListKeys())

			s.stop()
			compact(t, etcd)
			s = start(t, watchCache, etcd, func(o *Options) { o.Recommended.SecureServing.BindPort = s.port() })
			s.remove(second)
			s.create("n", "third", "", nil)
			require.Eventually(t, func() bool {
				_, third, _ := store.GetByKey("n/third")
				_, second, _ := store.GetByKey("n/second")
				return third && !second
			}, patience, 10*time.Millisecond)

			w, err := s.watch("n", metav1.ListOptions{ResourceVersion: first.ResourceVersion})
			if err == nil {
				event := next(t, w)
				require.Equal(t, watch.Error, event.Type)
				err = apierrors.FromObject(event.Object)
			}
			requireExpired(t, err)
			_, err = s.list("n", metav1.ListOptions{ResourceVersion: first.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
			requireExpired(t, err)
		})
	}
}

// requireExpired expects an answer of 410.
func requireExpired(t *testing.T, err error) {
	t.Helper()
	require.True(t, apierrors.IsResourceExpired(err) || apierrors.IsGone(err), "%v", err)
}

// compact makes etcd discard everything but the current state.
func compact(t *testing.T, etcd *Etcd) {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd.Endpoint()}})
	require.NoError(t, err)
	defer client.Close()
	now, err := client.Get(t.Context(), "x")
	require.NoError(t, err)
	_, err = client.Compact(t.Context(), now.Header.Revision, clientv3.WithCompactPhysical())
	require.NoError(t, err)
}

// TestStop ends a server while clients watch. They do not delay it, and no goroutine of the cache
// remains.
func TestStop(t *testing.T) {
	s := start(t, Watchsim, startEtcd(t), nil)
	var watches []watch.Interface
	for range 3 {
		watches = append(watches, s.mustWatch("n", metav1.ListOptions{}))
	}
	require.True(t, cacheRuns())
	begun := time.Now()
	s.stop()
	require.Less(t, time.Since(begun), watchGracePeriod)
	for _, w := range watches {
		select {
		case event, open := <-w.ResultChan():
			require.False(t, open, "%v", event)
		case <-time.After(patience):
			require.Fail(t, "a watch goes on")
		}
	}
	require.Eventually(t, func() bool { return !cacheRuns() }, patience, 10*time.Millisecond)
}

// cacheRuns says whether a goroutine of this process executes the watch cache.
func cacheRuns() bool {
	var stacks bytes.Buffer
	pprof.Lookup("goroutine").WriteTo(&stacks, 1)
	return bytes.Contains(stacks.Bytes(), []byte("watchsim/cacher.("))
}
