package etcd

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

var (
	someEvents   = &etcdserverpb.WatchResponse{Events: []*mvccpb.Event{{}}}
	someProgress = &etcdserverpb.WatchResponse{}
)

func TestWhatIsHeldBackIsSentOnRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		injection := &WatchInjection{}
		injection.Hold("apiserver-0")
		injection.Hold("apiserver-0")
		sent := make(chan bool, 1)
		go func() { sent <- injection.admit(t.Context(), "apiserver-0", someEvents) }()
		synctest.Wait()
		require.Empty(t, sent)
		require.True(t, injection.admit(t.Context(), "apiserver-1", someEvents), "other hosts do not notice")
		injection.Release("apiserver-0")
		require.True(t, <-sent)
		require.True(t, injection.admit(t.Context(), "apiserver-0", someEvents))
		injection.Release("apiserver-0")

		injection.Hold("apiserver-0")
		ctx, cancel := context.WithCancel(t.Context())
		go func() { sent <- injection.admit(ctx, "apiserver-0", someEvents) }()
		synctest.Wait()
		require.Empty(t, sent)
		cancel()
		<-sent
	})
}

func TestAThrottledStreamIsSentSoManyBytesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		injection := &WatchInjection{}
		injection.Throttle("apiserver-0", 100)
		large := &etcdserverpb.WatchResponse{Events: []*mvccpb.Event{{Kv: &mvccpb.KeyValue{Value: make([]byte, 1000-2*messageBytes)}}}}
		takes := func(host string, answer *etcdserverpb.WatchResponse) time.Duration {
			began := time.Now()
			require.True(t, injection.admit(t.Context(), host, answer))
			return time.Since(began)
		}
		require.Equal(t, 10*time.Second, takes("apiserver-0", large))
		require.Zero(t, takes("apiserver-1", large), "other hosts do not notice")
		require.Equal(t, 320*time.Millisecond, takes("apiserver-0", someProgress))
		time.AfterFunc(time.Second, func() { injection.Throttle("apiserver-0", 0) })
		require.Equal(t, time.Second, takes("apiserver-0", large), "what waits is sent when the limit is lifted")
		require.Zero(t, takes("apiserver-0", large))
	})
}

func TestOnlyProgressIsLost(t *testing.T) {
	injection := &WatchInjection{}
	injection.Mute("apiserver-0", true)
	for _, row := range []struct {
		answer *etcdserverpb.WatchResponse
		sent   bool
	}{
		{someProgress, false},
		{someEvents, true},
		{&etcdserverpb.WatchResponse{Created: true}, true},
		{&etcdserverpb.WatchResponse{Canceled: true}, true},
		{&etcdserverpb.WatchResponse{CompactRevision: 3}, true},
	} {
		require.Equal(t, row.sent, injection.admit(t.Context(), "apiserver-0", row.answer), row.answer)
		require.True(t, injection.admit(t.Context(), "apiserver-1", row.answer))
	}
	injection.Mute("apiserver-0", false)
	require.True(t, injection.admit(t.Context(), "apiserver-0", someProgress))
	var none *WatchInjection
	require.True(t, none.admit(t.Context(), "apiserver-0", someProgress))
}

// startFaulty boots a single-member cluster with an injection for its watch streams,
// and returns the host name of its client.
func startFaulty(t *testing.T) (*Member, *clientv3.Client, *WatchInjection, <-chan clientv3.WatchResponse, string) {
	injection := &WatchInjection{}
	member, client, _ := startSingle(t, func(config *Config) { config.Injection = injection })
	watch := client.Watch(testContext(t), "/", clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	require.True(t, (<-watch).Created)
	member.mu.Lock()
	defer member.mu.Unlock()
	for stream := range member.streams {
		return member, client, injection, watch, stream.client
	}
	require.FailNow(t, "there is no stream")
	return nil, nil, nil, nil, ""
}

func TestOtherRequestsAreAnsweredWhileAWatchStreamIsHeld(t *testing.T) {
	_, client, injection, watch, host := startFaulty(t)
	injection.Hold(host)
	first := put(t, client, "/a", "1")
	second := put(t, client, "/a", "2")
	_, err := client.KV.Get(testContext(t), "/a")
	require.NoError(t, err)
	require.Empty(t, watch)
	injection.Release(host)
	var got []int64
	for len(got) < 2 {
		for _, event := range (<-watch).Events {
			got = append(got, event.Kv.ModRevision)
		}
	}
	require.Equal(t, []int64{first, second}, got)
}

func TestABrokenStreamIsResumedWithoutAGap(t *testing.T) {
	member, client, _, watch, host := startFaulty(t)
	var want, got []int64
	for range 5 {
		want = append(want, put(t, client, "/a", "x"))
		require.Equal(t, 1, member.BreakWatches(host))
		require.Zero(t, member.BreakWatches("nobody"))
		want = append(want, put(t, client, "/a", "y"))
		for len(got) < len(want) {
			answer := <-watch
			require.NoError(t, answer.Err())
			for _, event := range answer.Events {
				got = append(got, event.Kv.ModRevision)
			}
		}
	}
	require.Equal(t, want, got)
}

func TestTheLastDeletionIsFound(t *testing.T) {
	member, client, _ := startSingle(t)
	last := func(lookBack int) int64 {
		revision, err := member.LastDeletion(testContext(t), "/pods/", lookBack)
		require.NoError(t, err)
		return revision
	}
	require.Zero(t, last(100))
	put(t, client, "/pods/a", "1")
	put(t, client, "/nodes/a", "1")
	require.Zero(t, last(100))
	deleted, err := client.Delete(testContext(t), "/pods/a")
	require.NoError(t, err)
	put(t, client, "/pods/a", "2")
	put(t, client, "/pods/b", "2")
	_, err = client.Delete(testContext(t), "/nodes/a")
	require.NoError(t, err)
	require.Equal(t, deleted.Header.Revision, last(100))
	require.Zero(t, last(3), "it is further back than that")

	require.Equal(t, int64(1), member.OldestRevision())
	require.NoError(t, member.Compact(testContext(t), deleted.Header.Revision))
	require.Equal(t, deleted.Header.Revision, member.OldestRevision())
	require.Zero(t, last(100), "what is compacted cannot be told")
}

func TestTheCompactorCompactsByItself(t *testing.T) {
	member, client, _ := startSingle(t)
	var mu sync.Mutex
	var asked []int64
	stop, err := member.StartCompactor(10*time.Millisecond, func(revision int64) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, revision)
	})
	require.NoError(t, err)
	defer stop()
	first := put(t, client, "/a", "1")
	require.Eventually(t, func() bool {
		put(t, client, "/a", "2")
		_, err := client.KV.Get(testContext(t), "/a", clientv3.WithRev(first))
		return err == rpctypes.ErrCompacted
	}, patience, time.Millisecond)
	mu.Lock()
	defer mu.Unlock()
	require.Contains(t, asked, member.OldestRevision())
	require.True(t, slices.IsSorted(asked))
}
