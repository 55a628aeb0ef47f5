package etcd

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
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
	member.watches.mu.Lock()
	for s := range member.watches.streams {
		hosts[s.client] = true
	}
	member.watches.mu.Unlock()
	sum := 0
	for host := range hosts {
		sum += member.Watches(host, prefix)
	}
	return sum
}
