package etcd36

import (
	"context"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/storage/mvcc"

	"github.com/watchsim/watchsim/cluster/etcd/since36"
)

// Release implements etcd.Release.
type Release struct{ since36.Release }

func (Release) Count(ctx context.Context, server *etcdserver.EtcdServer, key, end []byte, revision int64) (int, error) {
	found, err := server.KV().Range(ctx, key, end, mvcc.RangeOptions{Rev: revision, Count: true})
	if err != nil {
		return 0, err
	}
	return found.Count, nil
}

// Request returns nil for the request that tests whether a downgrade is possible, which only
// releases since 3.6 have.
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
