package cacher

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	upstream "k8s.io/apiserver/pkg/storage/cacher"
)

// underTest are the two caches that the benchmarks compare, over the same storage.
var underTest = []struct {
	name string
	make func(testing.TB, Config) storage.Interface
}{
	{"cacher", func(t testing.TB, config Config) storage.Interface {
		c, err := New(config)
		require.NoError(t, err)
		t.Cleanup(c.Stop)
		require.NoError(t, c.Wait(t.Context()))
		return c
	}},
	{"kubernetes", func(t testing.TB, config Config) storage.Interface {
		c, err := upstream.NewCacherFromConfig(upstream.Config{
			Storage: config.Storage, Versioner: config.Versioner, GroupResource: config.GroupResource,
			EventsHistoryWindow: upstream.DefaultEventFreshDuration, ResourcePrefix: config.ResourcePrefix,
			KeyFunc: config.KeyFunc, GetAttrsFunc: config.GetAttrsFunc, IndexerFuncs: config.IndexerFuncs,
			Indexers: config.Indexers, NewFunc: config.NewFunc, NewListFunc: config.NewListFunc, Codec: podCodec,
		})
		require.NoError(t, err)
		t.Cleanup(c.Stop)
		require.NoError(t, c.Wait(t.Context()))
		return upstream.NewCacheDelegator(c, config.Storage)
	}},
}

// BenchmarkBurst sends a burst to many watches of everything that read as fast as
// they can. It reports how many were closed, and deliveries a second.
func BenchmarkBurst(b *testing.B) {
	for _, cache := range underTest {
		for _, size := range []int{1, 300, 3000} {
			b.Run(fmt.Sprintf("cache=%s/events=%d", cache.name, size), func(b *testing.B) {
				store := newFakeStore()
				c := cache.make(b, benchConfig(store))
				var delivered, closed atomic.Int64
				var done sync.WaitGroup
				for range 10_000 {
					w, err := c.Watch(b.Context(), podPrefix, storage.ListOptions{Predicate: storage.Everything, Recursive: true, ResourceVersion: "1"})
					require.NoError(b, err)
					done.Go(func() {
						for range w.ResultChan() {
							delivered.Add(1)
						}
						closed.Add(1)
					})
				}
				rv := uint64(1)
				pod := newTestPod("a")
				var want int64
				b.ResetTimer()
				for range b.N { // not b.Loop, which does not let a cache that closed its watches off
					for range size {
						rv++
						store.send(watch.Modified, rv, pod)
					}
					want += int64(size) * 10_000
					for delivered.Load() < want && closed.Load() == 0 {
						time.Sleep(time.Millisecond)
					}
					if closed.Load() > 0 {
						time.Sleep(100 * time.Millisecond)
						break
					}
				}
				b.ReportMetric(float64(closed.Load()), "closed")
				b.ReportMetric(float64(delivered.Load())/b.Elapsed().Seconds(), "deliveries/s")
			})
		}
	}
}

func benchConfig(store *fakeStore) Config {
	return Config{
		Storage: store, Versioner: storage.APIObjectVersioner{}, ResourcePrefix: podPrefix,
		KeyFunc:      keyOfPod,
		GetAttrsFunc: podAttributes, NewFunc: newPod, NewListFunc: newPodList,
	}
}

// BenchmarkIdleWatch measures what an idle watch holds in memory.
func BenchmarkIdleWatch(b *testing.B) {
	for _, cache := range underTest {
		b.Run("cache="+cache.name, func(b *testing.B) {
			store := newFakeStore()
			c := cache.make(b, benchConfig(store))
			inUse := func() uint64 {
				runtime.GC()
				runtime.GC()
				var stats runtime.MemStats
				runtime.ReadMemStats(&stats)
				return stats.HeapInuse + stats.StackInuse
			}
			const count = 10_000
			for b.Loop() {
				before := inUse()
				watches := make([]watch.Interface, count)
				for i := range watches {
					w, err := c.Watch(b.Context(), podPrefix, storage.ListOptions{Predicate: storage.Everything, Recursive: true, ResourceVersion: "1"})
					require.NoError(b, err)
					watches[i] = w
				}
				time.Sleep(50 * time.Millisecond)
				b.ReportMetric(float64(inUse()-before)/count, "B/watch")
				for _, w := range watches {
					w.Stop()
				}
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
}
