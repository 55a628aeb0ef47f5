// Package current adapts the release of etcd that go.mod requires.
package current

import (
	"context"
	"sync"
	_ "unsafe" // for go:linkname

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"google.golang.org/protobuf/proto"

	"github.com/watchsim/watchsim/cluster/etcd/since36"
)

// Release implements etcd.Release and etcd.WatchLimiter.
type Release struct{ since36.Release }

func (Release) Count(ctx context.Context, server *etcdserver.EtcdServer, key, end []byte, revision int64) (int, error) {
	found, err := server.KV().Range(ctx, key, end, mvcc.RangeOptions{Rev: revision, CountOnly: true})
	if err != nil {
		return 0, err
	}
	return found.Count, nil
}

// Request returns nil for the request that tests whether a downgrade is possible, which only
// releases since 3.6 have.
func (Release) Request(data []byte) (*etcdserverpb.InternalRaftRequest, error) {
	var request etcdserverpb.InternalRaftRequest
	if err := proto.Unmarshal(data, &request); err != nil {
		return nil, err
	}
	if request.DowngradeVersionTest != nil {
		return nil, nil
	}
	return &request, nil
}

// Variables of etcd that its own tests set as well, and that nothing else can.
//
//go:linkname watchBatchMaxRevs go.etcd.io/etcd/server/v3/storage/mvcc.watchBatchMaxRevs
//go:linkname chanBufLen go.etcd.io/etcd/server/v3/storage/mvcc.chanBufLen
//go:linkname maxWatchersPerSync go.etcd.io/etcd/server/v3/storage/mvcc.maxWatchersPerSync
var watchBatchMaxRevs, chanBufLen, maxWatchersPerSync int

// limiting keeps members that boot at the same time from setting the limits together.
var limiting sync.Mutex

func (Release) LimitWatches(batch, buffer, perSync int) {
	limiting.Lock()
	defer limiting.Unlock()
	set(&watchBatchMaxRevs, batch)
	set(&chanBufLen, buffer)
	set(&maxWatchersPerSync, perSync)
}

// set sets a limit unless it has been set, as members that run read it.
func set(limit *int, value int) {
	if value > 0 && *limit != value {
		*limit = value
	}
}
