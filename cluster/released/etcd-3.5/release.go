package etcd35

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/mvcc"
	"google.golang.org/grpc"
)

// Release implements etcd.Release.
type Release struct{}

// Configure keeps the server from waking up every few seconds to look for a downgrade.
func (Release) Configure(s *embed.Config, progress time.Duration, compactionBatch int, streams grpc.StreamServerInterceptor) {
	s.ExperimentalWatchProgressNotifyInterval = progress
	s.ExperimentalDowngradeCheckTime = 0
	s.ExperimentalCompactionBatchLimit = compactionBatch
	for _, url := range s.ListenClientUrls {
		intercept(url.Host, streams)
	}
}

func (Release) ID(server *etcdserver.EtcdServer) types.ID { return server.ID() }

func (Release) Count(ctx context.Context, server *etcdserver.EtcdServer, key, end []byte, revision int64) (int, error) {
	found, err := server.KV().Range(ctx, key, end, mvcc.RangeOptions{Rev: revision, Count: true})
	if err != nil {
		return 0, err
	}
	return found.Count, nil
}

// Request returns nil for requests of etcd's v2 API, which has a store of its own: members of this
// release publish their client URLs with them.
func (Release) Request(data []byte) (*etcdserverpb.InternalRaftRequest, error) {
	var request etcdserverpb.InternalRaftRequest
	if err := request.Unmarshal(data); err != nil {
		var old etcdserverpb.Request
		return nil, old.Unmarshal(data)
	}
	if request.V2 != nil {
		return nil, nil
	}
	return &request, nil
}
