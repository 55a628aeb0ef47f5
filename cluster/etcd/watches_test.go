package etcd

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/mvcc"

	"github.com/watchsim/watchsim/sim/isolate"
)

func TestWatchesAreCountedWhereEtcdServesThem(t *testing.T) {
	member, client, _ := startSingle(t)
	// On a real socket the client has no address.
	await := func(want int, prefix string) {
		t.Helper()
		require.Eventually(t, func() bool { return total(member, prefix) == want }, patience, time.Millisecond,
			"expected %d watches below %q, found %d", want, prefix, total(member, prefix))
	}
	await(0, "")

	ctx, cancel := context.WithCancel(testContext(t))
	one := client.Watch(ctx, "/pods/", clientv3.WithPrefix())
	await(1, "/pods/")
	client.Watch(testContext(t), "/pods/", clientv3.WithPrefix())
	client.Watch(testContext(t), "/nodes/", clientv3.WithPrefix())
	await(2, "/pods/")
	await(1, "/nodes/")
	await(3, "")
	require.Zero(t, member.Watches("another-host", ""))

	cancel()
	for range one {
	}
	await(1, "/pods/")

	put(t, client, "/pods/a", "1")
	revision := put(t, client, "/pods/a", "2")
	require.NoError(t, member.Compact(testContext(t), revision))
	for answer := range client.Watch(testContext(t), "/pods/", clientv3.WithRev(1)) {
		require.True(t, answer.Canceled, "a start that is compacted is refused")
	}
	await(1, "/pods/")

	require.NoError(t, client.Close())
	await(0, "")
}

// total counts the watches of all hosts.
func total(member *Member, prefix string) int {
	hosts := map[string]bool{}
	member.mu.Lock()
	for s := range member.streams {
		hosts[s.client] = true
	}
	member.mu.Unlock()
	sum := 0
	for host := range hosts {
		sum += member.Watches(host, prefix)
	}
	return sum
}

// The limits are process-wide, so the test runs in a copy.
func TestWatchesHaveLimits(t *testing.T) {
	isolate.Isolated(t, func(t testing.TB) {
		config := testConfig("etcd-0", filepath.Join(enterTempDir(t), "data"), "etcd-0")
		config.Tuning.WatchBatch, config.Tuning.WatchBuffer, config.Tuning.WatchesPerSync = 2, 1, 1
		waitReady(t, startMember(t, config))
		require.Equal(t, 1, mvcc.ChanBufLen())
		client := connect(t, "etcd-0")
		for range 5 {
			put(t, client, "/a", "1")
		}

		var batches []int
		for answer := range client.Watch(testContext(t), "/a", clientv3.WithRev(2)) {
			if batches = append(batches, len(answer.Events)); len(batches) == 3 {
				break
			}
		}
		require.Equal(t, []int{2, 2, 1}, batches)
	})
}
