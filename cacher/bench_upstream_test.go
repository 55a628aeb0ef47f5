package cacher

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"k8s.io/apiserver/pkg/storage"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
)

// The benchmarks of this file are Kubernetes' own, from
// k8s.io/apiserver/pkg/storage/testing, with the pods of a cluster of 500 nodes.

func upstreamData() storagetesting.BenchmarkData {
	return storagetesting.PrepareBenchmarkData(50, 200, 500)
}

// newBenchEtcd is an etcd of its own for one benchmark.
func newBenchEtcd(b *testing.B) storage.Interface {
	_, store := newStore(b, podCodec, identity.NewEncryptCheckTransformer())
	return store
}

// createAll writes the pods, several at a time.
func createAll(b *testing.B, store storage.Interface, data storagetesting.BenchmarkData) {
	var writers errgroup.Group
	writers.SetLimit(32)
	for i, pod := range data.Pods {
		writers.Go(func() error { return store.Create(b.Context(), data.PodKeys[i], pod, nil, 0) })
	}
	require.NoError(b, writers.Wait())
}

// BenchmarkUpstreamList lists from both caches over one store. They exist before the pods, as the
// benchmark reads the states at the last hundred writes.
func BenchmarkUpstreamList(b *testing.B) {
	store := newBenchEtcd(b)
	caches := map[string]storage.Interface{}
	for _, cache := range cachesUnderTest {
		caches[cache.name] = cache.start(b, podConfig(store, indexed))
		forgetSizes(store)
	}
	data := upstreamData()
	createAll(b, store, data)
	for _, indexed := range []bool{true, false} {
		b.Run(map[bool]string{true: "indexed=true", false: "indexed=false"}[indexed], func(b *testing.B) {
			eachCache(b, func(b *testing.B, cache cacheUnderTest) {
				storagetesting.RunBenchmarkStoreList(b.Context(), b, caches[cache.name], data, indexed)
			})
		})
	}
}

// BenchmarkUpstreamWrite writes through a cache while others read from it. Each cache has its own
// store, so that it alone follows the writes.
func BenchmarkUpstreamWrite(b *testing.B) {
	data := upstreamData()
	eachCache(b, func(b *testing.B, cache cacheUnderTest) {
		c := cache.start(b, podConfig(newBenchEtcd(b), indexed))
		storagetesting.RunBenchmarkWriteThroughput(b.Context(), b, c, data, true, nil)
	})
}

// BenchmarkUpstreamStats requests the number and size of the objects. Each cache has its own store,
// as a store gets the keys for its estimates from one cache.
func BenchmarkUpstreamStats(b *testing.B) {
	data := upstreamData()
	caches := map[string]storage.Interface{}
	for _, cache := range cachesUnderTest {
		caches[cache.name] = cache.start(b, podConfig(newBenchEtcd(b), indexed))
		createAll(b, caches[cache.name], data)
	}
	eachCache(b, func(b *testing.B, cache cacheUnderTest) {
		storagetesting.RunBenchmarkStoreStats(b.Context(), b, caches[cache.name])
	})
}
