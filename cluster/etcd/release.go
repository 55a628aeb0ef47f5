package etcd

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"google.golang.org/grpc"
)

// Release adapts this package to a release of etcd. The rest of the package compiles against every
// supported release; a build contains one. Package current adapts the release in the project's
// go.mod, with the code that package since36 shares between several; older ones are in
// cluster/released.
type Release interface {
	// Configure completes the settings of a member: the interval of progress
	// notifications, how many revisions a compaction removes at a time, the interceptor
	// of its gRPC streams, and background work that no run needs. It also sets etcd's
	// process-wide state.
	Configure(settings *embed.Config, progress time.Duration, compactionBatch int, streams grpc.StreamServerInterceptor)

	// ID returns a server's ID in its cluster.
	ID(server *etcdserver.EtcdServer) types.ID

	// Count returns how many keys there were from key to end, at a revision.
	Count(ctx context.Context, server *etcdserver.EtcdServer, key, end []byte, revision int64) (int, error)

	// ReadLog reads the write-ahead log of the member in a folder without taking its
	// locks. A record that a crash cut short ends the log. A folder without a log
	// belongs to a member that never ran.
	ReadLog(dir string) (MemberLog, error)

	// Restore creates the data folder of a member with these settings from the database
	// in the folder from. It returns the last log entry that the database contains and,
	// if bump raises it, the member's first revision. See [Restore].
	Restore(settings *embed.Config, from string, bump int64) (applied uint64, revision int64, err error)

	// Request decodes the data of a log entry. It returns nil for a request that only
	// this release knows and that does not change the store.
	Request(data []byte) (*etcdserverpb.InternalRaftRequest, error)
}

// WatchLimiter is a [Release] whose limits on watches can be lowered, so that a small run
// exceeds them as a large cluster does.
type WatchLimiter interface {
	// LimitWatches sets the limits of [Tuning] for all members of the process; 0 changes nothing.
	LimitWatches(batch, buffer, perSync int)
}
