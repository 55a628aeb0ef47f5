package cacher

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
)

// TestACompactionAtTheNextChange compacts etcd exactly at the change that a cache has not received
// yet. etcd still has the change, so it accepts a watch from there, but no longer has the state
// before it, without which the etcd3 store fails each watch at that place. Kubernetes' cache
// retries for 30 seconds, its MaxInternalErrorRetryDuration, before it relists: see docs/findings.
// Ours relists after the second failure.
func TestACompactionAtTheNextChange(t *testing.T) {
	for _, row := range []struct {
		cache    int
		min, max time.Duration
	}{
		{0, 0, 10 * time.Second},
		{1, 25 * time.Second, 2 * time.Minute},
	} {
		cache := cachesUnderTest[row.cache]
		t.Run(cache.name, func(t *testing.T) {
			t.Parallel()
			server, etcd := newStore(t, podCodec, identity.NewEncryptCheckTransformer())
			store := &interrupted{Interface: etcd, open: make(chan struct{})}
			close(store.open)
			config := podConfig(store)
			config.Codec = podCodec
			c := cache.make(t, config)
			defer c.Stop()

			pod := newTestPod("a")
			created := &example.Pod{}
			require.NoError(t, c.Create(t.Context(), podKey(pod), pod, created, 0))
			seen := func() string {
				got := &example.Pod{}
				_ = c.Get(t.Context(), podKey(pod), storage.GetOptions{ResourceVersion: "0", IgnoreNotFound: true}, got)
				return got.ResourceVersion
			}
			require.Eventually(t, func() bool { return seen() == created.ResourceVersion }, patience, time.Millisecond)

			store.interrupt()
			updated := &example.Pod{}
			require.NoError(t, etcd.GuaranteedUpdate(t.Context(), podKey(pod), updated, false, nil, storage.SimpleUpdate(func(o runtime.Object) (runtime.Object, error) {
				o.(*example.Pod).Labels = map[string]string{"changed": "yes"}
				return o, nil
			}), nil))
			_, err := server.V3Client.Client.Compact(t.Context(), int64(rvOf(updated)))
			require.NoError(t, err)
			store.opened.Store(0)
			store.resume()

			began := time.Now()
			require.Eventually(t, func() bool { return seen() == updated.ResourceVersion }, 2*time.Minute, 10*time.Millisecond)
			took := time.Since(began)
			require.GreaterOrEqual(t, took, row.min, "the finding no longer holds: take it out of docs/findings")
			require.Less(t, took, row.max)
			t.Logf("stale for %v, in which it watched %d times", took, store.opened.Load())
		})
	}
}

// interrupted is a storage whose watches can be ended, and blocked until they are allowed again.
type interrupted struct {
	storage.Interface

	mu      sync.Mutex
	open    chan struct{} // closed while watches may be opened
	watches []watch.Interface
	opened  atomic.Int64
}

func (s *interrupted) Watch(ctx context.Context, key string, options storage.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	open := s.open
	s.mu.Unlock()
	select {
	case <-open:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.opened.Add(1)
	w, err := s.Interface.Watch(ctx, key, options)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.watches = append(s.watches, w)
	}
	return w, err
}

func (s *interrupted) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = make(chan struct{})
	for _, w := range s.watches {
		w.Stop()
	}
	s.watches = nil
}

func (s *interrupted) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.open)
}
