package cacher

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
	upstream "k8s.io/apiserver/pkg/storage/cacher"
	utilflowcontrol "k8s.io/apiserver/pkg/util/flowcontrol"
)

// The benchmarks compare this cache with Kubernetes' own, over the same storage and in the same
// process. Their names end in cache=cacher or cache=kubernetes, by which benchstat pairs them.
// Kubernetes' cache comes second, so that it profits from anything warmed up.

// watchCount is how many watches the fan-out benchmarks open.
const watchCount = 10_000

// cacheUnderTest makes one of the two caches, ready to be read.
type cacheUnderTest struct {
	name string
	make func(testing.TB, Config) stoppable
}

type stoppable interface {
	storage.Interface
	Stop()
}

var cachesUnderTest = []cacheUnderTest{
	{"cacher", func(t testing.TB, config Config) stoppable {
		c, err := New(config)
		require.NoError(t, err)
		require.NoError(t, c.Wait(t.Context()))
		return c
	}},
	{"kubernetes", func(t testing.TB, config Config) stoppable {
		config.EventsHistoryWindow, config.Codec = upstream.DefaultEventFreshDuration, podCodec
		c, err := upstream.NewCacherFromConfig(kubernetesConfig(config))
		require.NoError(t, err)
		require.NoError(t, c.Wait(t.Context()))
		return stoppableDelegator{upstream.NewCacheDelegator(c, config.Storage), c}
	}},
}

// stoppableDelegator is Kubernetes' cache as an API server uses it: behind the delegator between
// cache and storage.
type stoppableDelegator struct {
	*upstream.CacheDelegator
	cacher *upstream.Cacher
}

func (s stoppableDelegator) Stop() {
	s.CacheDelegator.Stop()
	s.cacher.Stop()
}

// eachCache runs a benchmark for both caches, each with a deadline.
func eachCache(b *testing.B, run func(*testing.B, cacheUnderTest)) {
	for _, cache := range cachesUnderTest {
		b.Run("cache="+cache.name, func(b *testing.B) {
			if !within(benchDeadline, func() { run(b, cache) }) {
				b.Fatalf("expected the benchmark to end within %v, found it still running", benchDeadline)
			}
		})
	}
}

const (
	// benchDeadline is far beyond what any of the benchmarks takes.
	benchDeadline = 3 * time.Minute
	stopDeadline  = 10 * time.Second
)

// within runs a function and reports whether it returned in time. One that did not is abandoned.
func within(limit time.Duration, run func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}

// start makes a cache that lives as long as the benchmark. Kubernetes' may never stop while events
// are in flight: its dispatcher ends first, and Stop then waits for a reflector that waits for the
// dispatcher. The figures are complete by then.
func (c cacheUnderTest) start(t testing.TB, config Config) storage.Interface {
	made := c.make(t, config)
	t.Cleanup(func() {
		if !within(stopDeadline, made.Stop) {
			t.Logf("cache=%s did not stop within %v and is left behind", c.name, stopDeadline)
		}
	})
	return made
}

// benchStore is a store in memory that stamps events with a time, as the etcd3 store does for both
// caches, which use it for metrics and window sizes.
type benchStore struct {
	*fakeStore
	rv  uint64
	pod *example.Pod
}

func newBenchStore() *benchStore {
	return &benchStore{fakeStore: newFakeStore(), rv: 1, pod: onNode("changing", "node-0")}
}

// change sends one modification of a pod.
func (s *benchStore) change() {
	s.rv++
	changed := *s.pod
	changed.ResourceVersion = fmt.Sprint(s.rv)
	s.events <- watch.Event{Type: watch.Modified, Object: stamped{&changed, time.Now()}}
}

// stamped is an object with the time at which the store had it.
type stamped struct {
	runtime.Object
	at time.Time
}

var _ storage.WatchEventWithRecordTime = stamped{}

func (s stamped) RecordTime() time.Time  { return s.at }
func (s stamped) Unwrap() runtime.Object { return s.Object }

// GetObjectMeta implements metav1.ObjectMetaAccessor.
func (s stamped) GetObjectMeta() metav1.Object { return s.Object.(metav1.Object) }

// everything requests all changes from now on, as a controller does.
func everything(int) storage.ListOptions {
	options := allPods("1")
	options.Predicate.AllowWatchBookmarks = true
	return options
}

// ofNode requests the pods of one node, as a kubelet does.
func ofNode(number int) storage.ListOptions {
	options := everything(number)
	options.Predicate.Field = fields.OneTermEqualSelector(nodeField, fmt.Sprintf("node-%d", number))
	options.Predicate.IndexFields = []string{nodeField}
	options.Predicate.GetAttrs = podAttributes
	return options
}

// requests are contexts like those of requests: each its own, with a distant deadline. They count
// the watches that do not wait for events yet, as an utilflowcontrol.InitializationSignal.
type requests struct {
	sync.WaitGroup
	contexts []context.Context
	watches  []watch.Interface // those that are open
}

func newRequests(b *testing.B) *requests {
	r := &requests{contexts: make([]context.Context, watchCount), watches: make([]watch.Interface, watchCount)}
	for i := range r.contexts {
		ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
		b.Cleanup(cancel)
		r.contexts[i] = utilflowcontrol.WithInitializationSignal(ctx, r)
	}
	return r
}

// Signal implements utilflowcontrol.InitializationSignal.
func (r *requests) Signal() { r.Done() }

// open opens a watch for each request and waits until all wait for events.
func (r *requests) open(b *testing.B, c storage.Interface, options func(int) storage.ListOptions) {
	r.Add(watchCount)
	for i, ctx := range r.contexts {
		w, err := c.Watch(ctx, podPrefix, options(i))
		require.NoError(b, err)
		r.watches[i] = w
	}
	r.Wait()
}

func (r *requests) stop() {
	for _, w := range r.watches {
		w.Stop()
	}
}

// openWatches opens watches that live as long as the benchmark.
func openWatches(b *testing.B, c storage.Interface, options func(int) storage.ListOptions) []watch.Interface {
	r := newRequests(b)
	r.open(b, c, options)
	b.Cleanup(r.stop)
	return r.watches
}

// consumers read watches as fast as they can, one goroutine each.
type consumers struct {
	sync.WaitGroup
	closed atomic.Int64 // how many watches the cache has closed
	// lost is closed with the first of them.
	lost chan struct{}
}

// consume calls receive with the number of the watch and the number of the event,
// both from 0, for each event but bookmarks, until it returns false or the cache
// closes the watch.
func consume(watches []watch.Interface, receive func(watch, event int) bool) *consumers {
	c := &consumers{lost: make(chan struct{})}
	for i, w := range watches {
		c.Go(func() {
			for event := 0; ; event++ {
				if !nextChange(w) {
					if c.closed.Add(1) == 1 {
						close(c.lost)
					}
					return
				}
				if !receive(i, event) {
					return
				}
			}
		})
	}
	return c
}

// nextChange waits for an event that is no bookmark. It returns false if the watch
// has ended.
func nextChange(w watch.Interface) bool {
	for e := range w.ResultChan() {
		if e.Type != watch.Bookmark {
			return e.Type != watch.Error
		}
	}
	return false
}
