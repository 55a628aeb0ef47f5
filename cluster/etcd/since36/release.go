// Package since36 has what the adapters of etcd's releases since 3.6 share, including the one in
// go.mod. It compiles against all of them.
package since36

import (
	"fmt"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// segmentBytes is the size of one file of the write-ahead log. Each boot allocates two
// of them, so etcd's 64 MB would cost more than a whole run. A run of 200 writes fills
// less than one.
const segmentBytes = 256 << 10

// init shrinks the log's segments, which only a package variable of etcd allows. It
// does so here because members of one process boot concurrently.
func init() { wal.SegmentSizeBytes = segmentBytes }

// Release implements those methods of etcd.Release that do not differ.
type Release struct{}

// Configure also turns off the monitor that wakes up every few seconds to look for a downgrade.
func (Release) Configure(s *embed.Config, progress time.Duration, compactionBatch int, streams grpc.StreamServerInterceptor) {
	s.WatchProgressNotifyInterval = progress
	s.DowngradeCheckTime = 0
	s.CompactionBatchLimit = compactionBatch
	s.GRPCAdditionalServerOptions = []grpc.ServerOption{grpc.ChainStreamInterceptor(streams)}
}

func (Release) ID(server *etcdserver.EtcdServer) types.ID { return server.MemberID() }

func (Release) Restore(settings *embed.Config, from string, bump int64) (applied uint64, revision int64, err error) {
	source, size := filepath.Join(from, "member", "snap", "db"), uint64(settings.QuotaBackendBytes)
	database := backend.NewDefaultBackend(zap.NewNop(), source, backend.WithMmapSize(size))
	applied, _ = schema.ReadConsistentIndex(database.ReadTx())
	if err := database.Close(); err != nil {
		return 0, 0, fmt.Errorf("close the database: %w", err)
	}
	restorer := snapshot.NewV3(zap.NewNop())
	if bump > 0 {
		status, err := restorer.Status(source)
		if err != nil {
			return 0, 0, fmt.Errorf("look at the snapshot: %w", err)
		}
		revision = status.Revision + bump
	}
	return applied, revision, restorer.Restore(snapshot.RestoreConfig{
		SnapshotPath:        source,
		SkipHashCheck:       true, // a copied database has no hash appended, unlike a saved snapshot
		Name:                settings.Name,
		PeerURLs:            []string{settings.AdvertisePeerUrls[0].String()},
		InitialCluster:      settings.InitialCluster,
		InitialClusterToken: "restored",
		OutputDataDir:       settings.Dir,
		InitialMmapSize:     size,
		RevisionBump:        uint64(bump),
		MarkCompacted:       bump > 0,
	})
}
