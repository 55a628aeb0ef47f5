package cacher

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
	etcdfeature "k8s.io/apiserver/pkg/storage/feature"
)

// fakeStore is a storage with one watch, which sends what a test says. It implements what a cache
// needs; other methods panic.
type fakeStore struct {
	storage.Interface

	mu     sync.Mutex
	pods   []example.Pod // what a list returns
	listRV uint64
	rv     uint64
	events chan watch.Event // of the open watch
	lists  int
	broken int // how many more watches fail as soon as they are opened
	// streams says that a watch can begin with the pods, as a list returns them.
	streams bool
	watches int
	// listErrors are what the next lists fail with, nil for success.
	listErrors []error
}

func newFakeStore() *fakeStore {
	return &fakeStore{listRV: 1, rv: 1, events: make(chan watch.Event, 1<<16)}
}

func (f *fakeStore) EnableResourceSizeEstimation(storage.KeysFunc) error { return nil }
func (f *fakeStore) CompactRevision() int64                              { return 0 }
func (f *fakeStore) Versioner() storage.Versioner                        { return storage.APIObjectVersioner{} }
func (f *fakeStore) RequestWatchProgress(context.Context) error          { return nil }

func (f *fakeStore) GetCurrentResourceVersion(context.Context) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rv, nil
}

func (f *fakeStore) GetList(_ context.Context, _ string, options storage.ListOptions, out runtime.Object) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lists++
	if len(f.listErrors) > 0 {
		err := f.listErrors[0]
		f.listErrors = f.listErrors[1:]
		if err != nil {
			return err
		}
	}
	list := out.(*example.PodList)
	list.Items = append(list.Items, f.pods...)
	list.ResourceVersion = strconv.FormatUint(f.listRV, 10)
	if limit := int(options.Predicate.Limit); limit > 0 && limit < len(list.Items) && options.Predicate.Continue == "" {
		list.Items, list.Continue = list.Items[:limit], "more"
	}
	return nil
}

func (f *fakeStore) Watch(_ context.Context, _ string, options storage.ListOptions) (watch.Interface, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if options.SendInitialEvents != nil && !f.streams {
		return nil, errors.New("the fake store streams no lists")
	}
	f.watches++
	if options.SendInitialEvents != nil {
		for i := range f.pods {
			f.events <- watch.Event{Type: watch.Added, Object: &f.pods[i]}
		}
		last := &example.Pod{ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: strconv.FormatUint(f.listRV, 10),
			Annotations:     map[string]string{metav1.InitialEventsAnnotationKey: "true"},
		}}
		f.events <- watch.Event{Type: watch.Bookmark, Object: last}
	}
	if f.broken > 0 {
		f.broken--
		return failedWatch(errFailing), nil
	}
	return ended{result: f.events}, nil
}

// send makes the watch deliver a pod at an RV.
func (f *fakeStore) send(kind watch.EventType, rv uint64, pod *example.Pod) {
	pod = pod.DeepCopy()
	pod.ResourceVersion = strconv.FormatUint(rv, 10)
	f.mu.Lock()
	f.rv = rv
	events := f.events
	f.mu.Unlock()
	events <- watch.Event{Type: kind, Object: pod}
}

// fail ends the watch with an error, after which the store lists pods at an RV.
func (f *fakeStore) fail(err metav1.Status, rv uint64, pods ...example.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	failed := f.events
	f.events = make(chan watch.Event, 1<<16)
	f.rv, f.listRV, f.pods = rv, rv, pods
	failed <- watch.Event{Type: watch.Error, Object: &err}
}

// progressing says that the storage can report progress, which the checker would otherwise find out
// from an etcd client.
type progressing struct {
	etcdfeature.FeatureSupportChecker
}

func (progressing) Supports(f storage.Feature) bool { return f == storage.RequestWatchProgress }

// withProgress makes lists without an RV be served from the cache until the test ends.
func withProgress(t testing.TB) {
	old := etcdfeature.DefaultFeatureSupportChecker
	etcdfeature.DefaultFeatureSupportChecker = progressing{old}
	t.Cleanup(func() { etcdfeature.DefaultFeatureSupportChecker = old })
}

func newTestPod(name string) *example.Pod {
	return &example.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}}
}

// onNode is a pod on a node.
func onNode(name, node string) *example.Pod {
	pod := newTestPod(name)
	pod.Spec.NodeName = node
	return pod
}

func keyOfPod(object runtime.Object) (string, error) {
	return storage.NamespaceKeyFunc(podPrefix, object)
}

// newFakeFixture is a cache over a fake store.
func newFakeFixture(t testing.TB, options ...func(*setup)) (*Cacher, *fakeStore) {
	t.Helper()
	store := newFakeStore()
	c, err := New(podConfig(store, options...))
	require.NoError(t, err)
	t.Cleanup(c.Stop)
	require.NoError(t, c.Wait(t.Context()))
	return c, store
}

// allPods asks for all pods at an RV.
func allPods(rv string) storage.ListOptions {
	return storage.ListOptions{Predicate: storage.Everything, Recursive: true, ResourceVersion: rv}
}

// from makes a watch begin at an RV.
func from(rv string) func(*storage.ListOptions) {
	return func(o *storage.ListOptions) { o.ResourceVersion = rv }
}

// open opens a watch of all pods.
func open(t testing.TB, c *Cacher, change func(*storage.ListOptions)) watch.Interface {
	t.Helper()
	options := allPods("1")
	options.Predicate.IndexFields = []string{nodeField}
	if change != nil {
		change(&options)
	}
	w, err := c.Watch(t.Context(), podPrefix, options)
	require.NoError(t, err)
	t.Cleanup(w.Stop)
	return w
}

// next returns the next event as "ADDED a 7".
func next(t testing.TB, w watch.Interface) string {
	t.Helper()
	select {
	case e, open := <-w.ResultChan():
		if !open {
			return "closed"
		}
		if status, failed := e.Object.(*metav1.Status); failed {
			return fmt.Sprintf("%s %d", e.Type, status.Code)
		}
		object, err := meta.Accessor(e.Object)
		require.NoError(t, err)
		return fmt.Sprintf("%s %s %s", e.Type, object.GetName(), object.GetResourceVersion())
	case <-time.After(patience):
		require.FailNow(t, "no event came")
		return ""
	}
}

// reach waits until the cache has reached an RV.
func reach(t testing.TB, c *Cacher, rv uint64) {
	t.Helper()
	require.Eventually(t, func() bool { return c.state.reached(rv) }, patience, time.Millisecond)
}

// dispatched waits until all events in the cache have been dispatched, so that they may be evicted.
func dispatched(t testing.TB, c *Cacher, rv uint64) {
	t.Helper()
	reach(t, c, rv)
	require.Eventually(t, func() bool {
		c.state.mu.RLock()
		defer c.state.mu.RUnlock()
		return c.state.log.dispatched == c.state.log.end
	}, patience, 10*time.Microsecond)
}
