package cacher

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
	upstream "k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
)

// pair is this cache and Kubernetes' over one etcd.
type pair struct {
	fixture
	kubernetes storage.Interface
	compacted  uint64 // the RV up to which etcd has forgotten
	rv         uint64 // the newest RV
}

// kubernetesConfig is the configuration of one of our caches for Kubernetes'.
func kubernetesConfig(config Config) upstream.Config {
	return upstream.Config{
		Storage: config.Storage, Versioner: config.Versioner, GroupResource: config.GroupResource,
		EventsHistoryWindow: config.EventsHistoryWindow, ResourcePrefix: config.ResourcePrefix,
		KeyFunc: config.KeyFunc, GetAttrsFunc: config.GetAttrsFunc, IndexerFuncs: config.IndexerFuncs,
		Indexers: config.Indexers, NewFunc: config.NewFunc, NewListFunc: config.NewListFunc, Codec: config.Codec,
	}
}

// estimated is a storage for a second cache: only one may tell it its keys.
type estimated struct{ storage.Interface }

func (estimated) EnableResourceSizeEstimation(storage.KeysFunc) error { return nil }

// newPair starts two caches over a storage that holds pods and has compacted the older of their
// states.
func newPair(t *testing.T) *pair {
	t.Helper()
	server, store := newStore(t, podCodec, identity.NewEncryptCheckTransformer())
	write := func(namespace, name string) uint64 {
		pod := &example.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}}}
		require.NoError(t, store.Create(t.Context(), podKey(pod), pod, pod, 0))
		return rvOf(pod)
	}
	p := &pair{fixture: fixture{server: server}}
	for _, name := range []string{"a", "b", "c"} {
		write("x", name)
	}
	p.compacted = write("y", "a")
	_, err := server.V3Client.Client.Compact(t.Context(), int64(p.compacted))
	require.NoError(t, err)

	config := podConfig(store, indexed)
	config.Codec, config.EventsHistoryWindow = podCodec, DefaultEventsHistoryWindow
	p.kubernetes = cachesUnderTest[1].start(t, config)
	config.Storage = estimated{store}
	p.Cacher, err = New(config)
	require.NoError(t, err)
	t.Cleanup(p.Cacher.Stop)
	for _, cache := range []storage.Interface{p.Cacher, p.kubernetes} {
		require.Eventually(t, func() bool { return cache.ReadinessCheck() == nil }, patience, time.Millisecond)
	}
	for _, name := range []string{"b", "c", "d"} {
		p.rv = write("y", name)
	}
	for _, cache := range []storage.Interface{p.Cacher, p.kubernetes} {
		require.NoError(t, cache.Get(t.Context(), "/pods/y/d", storage.GetOptions{ResourceVersion: fmt.Sprint(p.rv)}, newPod()))
	}
	return p
}

// outcome describes everything that a client sees of an error: the kind, and the API server's
// response.
func outcome(err error) string {
	var api apierrors.APIStatus
	var stored *storage.StorageError
	switch {
	case err == nil:
		return "no error"
	case errors.As(err, &api):
		status := api.Status()
		told := fmt.Sprintf("%d %s %q", status.Code, status.Reason, status.Message)
		if status.Details != nil {
			told += fmt.Sprintf(" causes %v, retry after %d s", status.Details.Causes, status.Details.RetryAfterSeconds)
		}
		return told
	case errors.As(err, &stored):
		return fmt.Sprintf("storage error %d of %q at %d %q", stored.Code, stored.Key, stored.ResourceVersion, stored.Error())
	default:
		return fmt.Sprintf("%T %q", err, err)
	}
}

// request is a request of a client to a cache; it returns everything that the client sees.
type request func(context.Context, storage.Interface) string

func list(key string, options storage.ListOptions, into func() runtime.Object) request {
	return func(ctx context.Context, s storage.Interface) string {
		out := into()
		if err := s.GetList(ctx, key, options, out); err != nil {
			return outcome(err)
		}
		pods, ok := out.(*example.PodList)
		if !ok {
			return fmt.Sprintf("%T", out)
		}
		var names []string
		for _, pod := range pods.Items {
			names = append(names, pod.Namespace+"/"+pod.Name+"@"+pod.ResourceVersion)
		}
		told := fmt.Sprintf("%v at %s, continue %q", names, pods.ResourceVersion, pods.Continue)
		if pods.RemainingItemCount != nil {
			told += fmt.Sprintf(", %d remain", *pods.RemainingItemCount)
		}
		return told
	}
}

func get(key string, options storage.GetOptions, into func() runtime.Object) request {
	return func(ctx context.Context, s storage.Interface) string {
		out := into()
		if err := s.Get(ctx, key, options, out); err != nil {
			return outcome(err)
		}
		return fmt.Sprintf("%v", out)
	}
}

// watching opens a watch and describes its first event, if there is one at once.
func watching(key string, options storage.ListOptions) request {
	return func(ctx context.Context, s storage.Interface) string {
		w, err := s.Watch(ctx, key, options)
		if err != nil {
			return "refused: " + outcome(err)
		}
		defer w.Stop()
		select {
		case e, open := <-w.ResultChan():
			if !open {
				return "closed"
			}
			if status, failed := e.Object.(*metav1.Status); failed {
				return "ERROR " + outcome(apierrors.FromObject(status))
			}
			return fmt.Sprintf("%s at %d", e.Type, rvOf(e.Object))
		case <-time.After(time.Second):
			return "open"
		}
	}
}

// ask returns what a client sees, or the panic that the request causes.
func (r request) ask(ctx context.Context, s storage.Interface) (seen string) {
	defer func() {
		if p := recover(); p != nil {
			seen = fmt.Sprintf("panic: %v", p)
		}
	}()
	return r(ctx, s)
}

// both asks two caches at once.
func both(t *testing.T, r request, here, there storage.Interface) (ours, theirs string) {
	var group sync.WaitGroup
	group.Go(func() { ours = r.ask(t.Context(), here) })
	group.Go(func() { theirs = r.ask(t.Context(), there) })
	group.Wait()
	return ours, theirs
}

// selecting returns options for all pods, changed.
func selecting(rv string, change func(*storage.ListOptions)) storage.ListOptions {
	options := allPods(rv)
	options.Predicate.GetAttrs = podAttributes
	if change != nil {
		change(&options)
	}
	return options
}

func token(t testing.TB, key string, rv int64) string {
	t.Helper()
	token, err := storage.EncodeContinue(key, podPrefix, rv)
	require.NoError(t, err)
	return token
}

// For any invalid or unusual request, both caches answer the same. If not, a row says why.
func TestBadAndOddRequests(t *testing.T) {
	p := newPair(t)
	yes, no := true, false
	continuing := func(token string, change func(*storage.ListOptions)) storage.ListOptions {
		return selecting("", func(o *storage.ListOptions) {
			o.Predicate.Continue, o.Predicate.Limit = token, 2
			if change != nil {
				change(o)
			}
		})
	}
	match := func(rv string, match metav1.ResourceVersionMatch) storage.ListOptions {
		return selecting(rv, func(o *storage.ListOptions) { o.ResourceVersionMatch = match })
	}
	const exact, notOlder = metav1.ResourceVersionMatchExact, metav1.ResourceVersionMatchNotOlderThan
	now, old, older, future := fmt.Sprint(p.rv), fmt.Sprint(p.compacted), fmt.Sprint(p.compacted-1), fmt.Sprint(p.rv+1000)
	single := func(rv string) storage.ListOptions {
		return selecting(rv, func(o *storage.ListOptions) { o.Recursive = false })
	}
	limited := func(rv string, limit int64) storage.ListOptions {
		return selecting(rv, func(o *storage.ListOptions) { o.Predicate.Limit = limit })
	}
	streaming := func(rv string, initial *bool, bookmarks bool) storage.ListOptions {
		return selecting(rv, func(o *storage.ListOptions) {
			o.SendInitialEvents, o.Predicate.AllowWatchBookmarks = initial, bookmarks
		})
	}
	bare := storage.ListOptions{Recursive: true, ResourceVersion: "0"}
	rows := map[string]request{}
	lists := func(name, key string, options storage.ListOptions) {
		rows["list "+name] = list(key, options, newPodList)
	}
	for _, rv := range []string{"", "0", "x", "-1", "1.5", "0x10", " 5", "9223372036854775807", "9223372036854775808", "18446744073709551616", older, old, now, future} {
		lists(fmt.Sprintf("at %q", rv), podPrefix, selecting(rv, nil))
		lists(fmt.Sprintf("of one at %q", rv), "/pods/x/a", single(rv))
		lists(fmt.Sprintf("exactly at %q", rv), podPrefix, match(rv, exact))
		lists(fmt.Sprintf("not older than %q", rv), podPrefix, match(rv, notOlder))
		lists(fmt.Sprintf("limited at %q", rv), podPrefix, limited(rv, 2))
		rows[fmt.Sprintf("get at %q", rv)] = get("/pods/x/a", storage.GetOptions{ResourceVersion: rv}, newPod)
		rows[fmt.Sprintf("watch from %q", rv)] = watching(podPrefix, selecting(rv, nil))
		rows[fmt.Sprintf("watch from %q with initial events", rv)] = watching(podPrefix, streaming(rv, &yes, true))
		rows[fmt.Sprintf("watch from %q with initial events, no bookmarks", rv)] = watching(podPrefix, streaming(rv, &yes, false))
		rows[fmt.Sprintf("watch from %q without initial events", rv)] = watching(podPrefix, streaming(rv, &no, true))
	}
	for _, key := range []string{"", "/", "/pods", "pods", "/pods/x", "/pods/x/", "/pods/none/", "/other/", "..", "/pods/../secrets", "/pods/./x", "/pods/x/..", "/pods//x", "/pods/x/a/b"} {
		lists(fmt.Sprintf("below %q", key), key, selecting("0", nil))
		lists(fmt.Sprintf("at the key %q", key), key, single("0"))
		rows[fmt.Sprintf("get of %q", key)] = get(key, storage.GetOptions{ResourceVersion: "0"}, newPod)
		rows[fmt.Sprintf("get of %q if there is one", key)] = get(key, storage.GetOptions{ResourceVersion: "0", IgnoreNotFound: true}, newPod)
		rows[fmt.Sprintf("watch of %q", key)] = watching(key, selecting("0", nil))
		rows[fmt.Sprintf("watch of the key %q", key)] = watching(key, single("0"))
	}
	for name, token := range map[string]string{
		"garbage":                "garbage",
		"no JSON":                "e30",
		"another version":        "eyJ2IjoibWV0YS5rOHMuaW8vdjIiLCJydiI6NSwic3RhcnQiOiJ4In0",
		"no RV":                  token(t, "/pods/x/b", 0),
		"a compacted RV":         token(t, "/pods/x/b", int64(p.compacted)-1),
		"the last compacted RV":  token(t, "/pods/x/b", int64(p.compacted)),
		"now":                    token(t, "/pods/x/b", int64(p.rv)),
		"the future":             token(t, "/pods/x/b", int64(p.rv)+1000),
		"the inconsistent kind":  token(t, "/pods/x/b", -1),
		"beyond the end":         token(t, "/pods/zzz", int64(p.rv)),
		"the key of a directory": token(t, "/pods/x/", int64(p.rv)),
	} {
		lists("continued with "+name, podPrefix, continuing(token, nil))
		lists("continued without a limit with "+name, podPrefix, continuing(token, func(o *storage.ListOptions) { o.Predicate.Limit = 0 }))
		lists("of another directory continued with "+name, "/pods/y/", continuing(token, nil))
		lists("of one continued with "+name, "/pods/x/a", continuing(token, func(o *storage.ListOptions) { o.Recursive = false }))
		lists("at 0 continued with "+name, podPrefix, continuing(token, func(o *storage.ListOptions) { o.ResourceVersion = "0" }))
		lists("at an RV continued with "+name, podPrefix, continuing(token, func(o *storage.ListOptions) { o.ResourceVersion = now }))
		lists("exactly at an RV continued with "+name, podPrefix, continuing(token, func(o *storage.ListOptions) {
			o.ResourceVersion, o.ResourceVersionMatch = now, exact
		}))
		lists("exactly at no RV continued with "+name, podPrefix, continuing(token, func(o *storage.ListOptions) { o.ResourceVersionMatch = exact }))
		rows["watch continued with "+name] = watching(podPrefix, continuing(token, nil))
	}
	lists("with an unknown match", podPrefix, match(now, "Sometimes"))
	lists("with an unknown match of no RV", podPrefix, match("", "Sometimes"))
	lists("with a negative limit", podPrefix, limited("0", -1))
	lists("with a negative limit, consistent", podPrefix, limited("", -1))
	lists("with a huge limit", podPrefix, limited("", 1<<62))
	lists("without selectors", podPrefix, bare)
	bare.ResourceVersion = ""
	lists("without selectors, consistent", podPrefix, bare)
	rows["watch without selectors"] = watching(podPrefix, bare)
	nothing := func() runtime.Object { return nil }
	rows["list into a pod"] = list(podPrefix, selecting("0", nil), newPod)
	rows["list into a nil list"] = list(podPrefix, selecting("0", nil), func() runtime.Object { return (*example.PodList)(nil) })
	rows["list into nothing"] = list(podPrefix, selecting("0", nil), nothing)
	rows["get into a nil pod"] = get("/pods/x/a", storage.GetOptions{ResourceVersion: "0"}, func() runtime.Object { return (*example.Pod)(nil) })
	rows["get into nothing"] = get("/pods/x/a", storage.GetOptions{ResourceVersion: "0"}, nothing)
	rows["create what exists"] = func(ctx context.Context, s storage.Interface) string {
		return outcome(s.Create(ctx, "/pods/x/a", newTestPod("a"), newPod(), 0))
	}
	rows["delete what does not exist"] = func(ctx context.Context, s storage.Interface) string {
		return outcome(s.Delete(ctx, "/pods/x/none", newPod(), nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{}))
	}
	rows["delete another UID"] = func(ctx context.Context, s storage.Interface) string {
		return outcome(s.Delete(ctx, "/pods/x/a", newPod(), storage.NewUIDPreconditions("none"), storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{}))
	}
	for name := range knownDifferences {
		require.Contains(t, rows, name)
	}
	for name, row := range rows {
		t.Run(strings.ReplaceAll(name, "/", "|"), func(t *testing.T) {
			t.Parallel()
			ours, theirs := both(t, row, p.Cacher, p.kubernetes)
			if reason := knownDifferences[name]; reason != "" {
				require.NotEqual(t, theirs, ours, "there is no difference that has to be explained")
				t.Logf("%s\nhere       %s\nKubernetes %s", reason, ours, theirs)
				return
			}
			require.Equal(t, theirs, ours)
		})
	}
}

// knownDifferences are the requests that Kubernetes' cache answers differently, and why this one
// does not.
var knownDifferences = map[string]string{
	"watch without selectors": "Kubernetes' cache panics; none selects everything, as it does for lists",
}

// uninitialisable is a storage that no cache can list. Other requests get an error that says that
// it was asked.
type uninitialisable struct{ *fakeStore }

var errBelow = errors.New("the storage was asked")

func (u uninitialisable) GetList(_ context.Context, _ string, options storage.ListOptions, _ runtime.Object) error {
	if options.Predicate.Limit == listPageSize {
		return errFailing
	}
	return errBelow
}

func (u uninitialisable) Get(context.Context, string, storage.GetOptions, runtime.Object) error {
	return errBelow
}

// A cache that is not ready, or has been stopped, rejects the same requests as Kubernetes', in the
// same way, and delegates the same ones.
func TestRequestsToACacheThatIsNotReady(t *testing.T) {
	limited := selecting("0", func(o *storage.ListOptions) { o.Predicate.Limit = 5 })
	requests := map[string]request{
		"list":              list(podPrefix, selecting("0", nil), newPodList),
		"list of old":       list(podPrefix, selecting("5", nil), newPodList),
		"list, limited":     list(podPrefix, limited, newPodList),
		"list, consistent":  list(podPrefix, selecting("", nil), newPodList),
		"get":               get("/pods/x/a", storage.GetOptions{ResourceVersion: "0"}, newPod),
		"get, most recent":  get("/pods/x/a", storage.GetOptions{}, newPod),
		"watch":             watching(podPrefix, selecting("0", nil)),
		"watch of a bad RV": watching(podPrefix, selecting("x", nil)),
		"readiness":         func(_ context.Context, s storage.Interface) string { return outcome(s.ReadinessCheck()) },
	}
	// Why the cache is not ready may be told in other words.
	common := func(told string) string {
		before, _, _ := strings.Cut(told, "(re)initializing")
		return before
	}
	withProgress(t)
	for _, stopped := range []bool{false, true} {
		config := podConfig(uninitialisable{newFakeStore()})
		config.Codec, config.EventsHistoryWindow = podCodec, DefaultEventsHistoryWindow
		ours, err := New(config)
		require.NoError(t, err)
		defer ours.Stop()
		theirs, err := upstream.NewCacherFromConfig(kubernetesConfig(config))
		require.NoError(t, err)
		defer theirs.Stop()
		if stopped {
			ours.Stop()
			theirs.Stop()
		}
		for name, ask := range requests {
			here, there := both(t, ask, ours, upstream.NewCacheDelegator(theirs, config.Storage))
			require.Equal(t, common(there), common(here), "%s, stopped %v", name, stopped)
		}
	}
}
