package etcd

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"google.golang.org/grpc"

	"github.com/watchsim/watchsim/cluster/etcd/raftlog"
)

// Release is what a release of etcd has in its own way. The rest of this package
// compiles with each release that has one: a build holds a single etcd. That of the
// project's go.mod is in package current, older ones are below cluster/released.
type Release interface {
	// Configure completes the settings of a member: how often an idle watch that
	// asked for it hears of progress, who intercepts its gRPC streams, and background
	// work that no run needs. It also sees to what etcd keeps for the whole process.
	Configure(settings *embed.Config, progress time.Duration, streams grpc.StreamServerInterceptor)

	// ID is that of a server in its cluster.
	ID(server *etcdserver.EtcdServer) types.ID

	// Count is how many keys there were from key to end, at a revision.
	Count(ctx context.Context, server *etcdserver.EtcdServer, key, end []byte, revision int64) (int, error)

	// ReadLog reads the write-ahead log of the member in a folder without taking its
	// locks. A record that a crash cut short ends the log. A folder without a log is
	// that of a member that never ran.
	ReadLog(dir string) (raftlog.Log, error)

	// Restore makes the data folder of a member with these settings of the database in
	// the folder from. It returns the last log entry that the database has the effect
	// of, and the revision that the member begins at if that is raised. See [Restore].
	Restore(settings *embed.Config, from string, bump int64) (applied uint64, revision int64, err error)

	// Request decodes the data of a log entry. It is nil for one that this release
	// alone knows and that leaves the store as it is.
	Request(data []byte) (*etcdserverpb.InternalRaftRequest, error)
}
