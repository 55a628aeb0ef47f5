package cacher

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// BenchmarkIdle measures the memory of an idle watch of everything, on the heap and in stacks,
// without the context of its request.
func BenchmarkIdle(b *testing.B) {
	eachCache(b, func(b *testing.B, cache cacheUnderTest) {
		c := cache.start(b, podConfig(newBenchStore()))
		requests := newRequests(b)
		before := memoryInUse()
		requests.open(b, c, everything)
		b.ReportMetric(float64(memoryInUse()-before)/watchCount, "B/watch")
		b.ReportMetric(0, "ns/op")
		requests.stop()
	})
}

// memoryInUse returns the bytes in use after garbage collection. The first collection runs
// finalisers, the second frees what they kept.
func memoryInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc + stats.StackInuse
}

// establishedObjects is how many objects a new watch begins with.
const establishedObjects = 1000

// BenchmarkEstablish opens many watches from resourceVersion 0 at once, as after an
// API server has started, and waits until each has received all objects.
func BenchmarkEstablish(b *testing.B) {
	eachCache(b, func(b *testing.B, cache cacheUnderTest) {
		store := newBenchStore()
		for i := range establishedObjects {
			pod := onNode(fmt.Sprintf("pod-%04d", i), fmt.Sprintf("node-%d", i))
			pod.ResourceVersion = "1"
			store.pods = append(store.pods, *pod)
		}
		c := cache.start(b, podConfig(store))
		for b.Loop() {
			var clients sync.WaitGroup
			var failed atomic.Int64
			for range watchCount {
				clients.Go(func() {
					if !receiveInitial(b, c) {
						failed.Add(1)
					}
				})
			}
			clients.Wait()
			if failed.Load() > 0 {
				b.Fatalf("expected every watch to receive %d objects, found %d that did not", establishedObjects, failed.Load())
			}
		}
	})
}

// receiveInitial reports whether a watch from resourceVersion 0 gets all objects.
func receiveInitial(b *testing.B, c storage.Interface) bool {
	w, err := c.Watch(b.Context(), podPrefix, allPods("0"))
	if err != nil {
		return false
	}
	defer w.Stop()
	for range establishedObjects {
		if e, open := <-w.ResultChan(); !open || e.Type != watch.Added {
			return false
		}
	}
	return true
}
