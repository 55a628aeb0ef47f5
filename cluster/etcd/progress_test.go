package etcd

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// TestProgressOvertakesTheEventsOfANewWatch reproduces finding 1 of docs/findings. A
// watch receives a progress notification for a revision before the events up to that
// revision. The notification answers a progress request that was made before the watch
// existed.
//
// The test asserts what etcd does, not what it should do: if it fails, etcd has been fixed and the
// finding can be closed.
func TestProgressOvertakesTheEventsOfANewWatch(t *testing.T) {
	member, client, _ := startSingle(t)
	stream, err := etcdserverpb.NewWatchClient(client.ActiveConnection()).Watch(testContext(t))
	require.NoError(t, err)
	receive := func() *etcdserverpb.WatchResponse {
		response, err := stream.Recv()
		require.NoError(t, err)
		return response
	}

	require.NoError(t, stream.Send(createRequest("/old", 0)))
	require.True(t, receive().Created)

	// Nobody receives, so the first events fill the flow control window, and etcd
	// queues all that follows.
	large := strings.Repeat("x", 200<<10)
	for range 4 {
		put(t, client, "/old", large)
	}
	revision := put(t, client, "/new", "1")

	// etcd chooses at random whether it sends a progress response or a created response
	// next. The created response comes after all 30 progress responses with a
	// probability of 1 in 2^30.
	for range 30 {
		require.NoError(t, stream.Send(progressRequest()))
	}
	require.NoError(t, stream.Send(createRequest("/new", revision)))
	require.Eventually(t, func() bool { return hasRead(member, "/new") }, patience, time.Millisecond)

	announced, told := false, int64(0)
	for {
		response := receive()
		switch {
		case response.Created:
			announced = true
		case announced && response.WatchId == clientv3.InvalidWatchID:
			told = response.Header.Revision // the client passes this on to every created watch
		case announced && len(response.Events) > 0 && string(response.Events[0].Kv.Key) == "/new":
			require.Equal(t, revision, response.Events[0].Kv.ModRevision)
			require.Equal(t, revision, told, "etcd did not tell the new watch of progress before its event")
			return
		}
	}
}

func createRequest(key string, revision int64) *etcdserverpb.WatchRequest {
	return &etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_CreateRequest{
		CreateRequest: &etcdserverpb.WatchCreateRequest{Key: []byte(key), StartRevision: revision},
	}}
}

func progressRequest() *etcdserverpb.WatchRequest {
	return &etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_ProgressRequest{
		ProgressRequest: &etcdserverpb.WatchProgressRequest{},
	}}
}

// hasRead reports whether a member has read the request for a watch of the key but not
// yet sent its created response.
func hasRead(member *Member, key string) bool {
	member.mu.Lock()
	defer member.mu.Unlock()
	for s := range member.streams {
		if slices.Contains(s.asked, key) {
			return true
		}
	}
	return false
}
