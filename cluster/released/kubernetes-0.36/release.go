package etcd36

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"google.golang.org/grpc"
)

// segmentBytes is the size of one file of the write-ahead log. Each boot allocates two
// of them, so etcd's 64 MB would cost more than a whole run. A run of 200 writes fills
// less than one.
const segmentBytes = 256 << 10

// init shrinks the log's segments, which only a package variable of etcd allows. It
// does so here because members of one process boot concurrently.
func init() { wal.SegmentSizeBytes = segmentBytes }

// Release implements etcd.Release.
type Release struct{}

// Configure implements etcd.Release. It turns off the monitor that wakes up every few
// seconds to look for a downgrade.
func (Release) Configure(s *embed.Config, progress time.Duration, compactionBatch int, streams grpc.StreamServerInterceptor) {
	s.WatchProgressNotifyInterval = progress
	s.DowngradeCheckTime = 0
	s.CompactionBatchLimit = compactionBatch
	s.GRPCAdditionalServerOptions = []grpc.ServerOption{grpc.ChainStreamInterceptor(streams)}
}

// ID implements etcd.Release.
func (Release) ID(server *etcdserver.EtcdServer) types.ID { return server.MemberID() }

// Count implements etcd.Release.
func (Release) Count(ctx context.Context, server *etcdserver.EtcdServer, key, end []byte, revision int64) (int, error) {
	found, err := server.KV().Range(ctx, key, end, mvcc.RangeOptions{Rev: revision, Count: true})
	if err != nil {
		return 0, err
	}
	return found.Count, nil
}

// Request implements etcd.Release. Only releases since 3.6 have a request that tests whether a
// downgrade is possible.
func (Release) Request(data []byte) (*etcdserverpb.InternalRaftRequest, error) {
	var request etcdserverpb.InternalRaftRequest
	if err := request.Unmarshal(data); err != nil {
		return nil, err
	}
	if request.DowngradeVersionTest != nil {
		return nil, nil
	}
	return &request, nil
}
