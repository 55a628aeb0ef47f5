package cacher

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
)

// BenchmarkObjects measures the caches over an etcd with many pods: starting and listing. The
// larger number is that of the largest supported cluster.
func BenchmarkObjects(b *testing.B) {
	for _, count := range []int{10_000, 150_000} {
		b.Run(fmt.Sprintf("objects=%d", count), func(b *testing.B) {
			store := newBenchEtcd(b)
			createPods(b, store, count)
			b.Run("do=initialise", func(b *testing.B) {
				eachCache(b, func(b *testing.B, cache cacheUnderTest) { initialise(b, cache, store) })
			})
			// Both caches exist while either is measured, so that each lists from a heap
			// of the same size.
			caches := map[string]storage.Interface{}
			for _, cache := range cachesUnderTest {
				caches[cache.name] = cache.start(b, podConfig(store, indexed))
				forgetSizes(store)
			}
			for _, list := range []struct {
				name    string
				options storage.ListOptions
				objects int
			}{
				{"list", storage.ListOptions{ResourceVersion: "0", Predicate: storage.Everything}, count},
				{"page", storage.ListOptions{Predicate: inPages(500)}, count},
				{"index", storage.ListOptions{ResourceVersion: "0", Predicate: ofNode(7).Predicate}, podsOfNode},
			} {
				list.options.Recursive = true
				b.Run("do="+list.name, func(b *testing.B) {
					eachCache(b, func(b *testing.B, cache cacheUnderTest) {
						b.ReportAllocs()
						before := processorTime(b)
						for b.Loop() {
							require.Equal(b, list.objects, listAll(b, caches[cache.name], list.options))
						}
						b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
					})
				})
			}
		})
	}
}

// podsOfNode is how many pods a node has.
const podsOfNode = 25

func inPages(limit int64) storage.SelectionPredicate {
	predicate := storage.Everything
	predicate.Limit = limit
	return predicate
}

// listAll lists all pages and returns the number of objects.
func listAll(b *testing.B, c storage.Interface, options storage.ListOptions) int {
	for objects := 0; ; {
		list := &example.PodList{}
		require.NoError(b, c.GetList(b.Context(), podPrefix, options, list))
		objects += len(list.Items)
		if list.Continue == "" {
			return objects
		}
		options.Predicate.Continue = list.Continue
	}
}

// createPods writes pods of 2 KB, in 50 namespaces.
func createPods(b *testing.B, store storage.Interface, count int) {
	var writers errgroup.Group
	writers.SetLimit(32)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range count {
		pod := onNode(fmt.Sprintf("pod-%06d", i), fmt.Sprintf("node-%d", i/podsOfNode))
		pod.Namespace = fmt.Sprintf("namespace-%02d", i%50)
		pod.Labels = map[string]string{"app": fmt.Sprintf("app-%d", i%100)}
		pod.Annotations = map[string]string{"payload": strings.Repeat(fmt.Sprintf("%016x", random.Uint64()), 2048/16)}
		pod.CreationTimestamp = metav1.Now()
		writers.Go(func() error {
			return store.Create(b.Context(), podKey(pod), pod, nil, 0)
		})
	}
	require.NoError(b, writers.Wait())
}

// initialise measures how long a cache takes to become ready, and the largest growth of the heap
// meanwhile, including garbage and the etcd in the same process.
func initialise(b *testing.B, cache cacheUnderTest, store storage.Interface) {
	var peak uint64
	var used time.Duration
	for range b.N {
		b.StopTimer()
		runtime.GC()
		growth := watchHeap()
		before := processorTime(b)
		b.StartTimer()
		c := cache.make(b, podConfig(store, indexed))
		b.StopTimer()
		used += processorTime(b) - before
		peak = max(peak, growth())
		c.Stop()
		forgetSizes(store)
		b.StartTimer()
	}
	b.ReportMetric(float64(peak), "peak-B")
	b.ReportMetric(float64(used)/float64(b.N), "cpu-ns/op")
}

// forgetSizes lets another cache use the store, which takes only one for estimates.
func forgetSizes(store storage.Interface) { etcd3.TestOnlyResetResourceSizeEstimator(store) }

// watchHeap starts sampling the size of the heap every millisecond. The returned function stops
// that and returns the largest growth, in bytes.
func watchHeap() func() uint64 {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	size := func() uint64 {
		metrics.Read(heap)
		return heap[0].Value.Uint64()
	}
	before := size()
	ctx, cancel := context.WithCancel(context.Background())
	largest := make(chan uint64)
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		peak := before
		for {
			select {
			case <-tick.C:
				peak = max(peak, size())
			case <-ctx.Done():
				largest <- peak - before
				return
			}
		}
	}()
	return func() uint64 {
		cancel()
		return <-largest
	}
}
