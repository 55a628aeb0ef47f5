package etcd35

import (
	"fmt"
	"path/filepath"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/cindex"
	"go.etcd.io/etcd/server/v3/mvcc/backend"
	"go.uber.org/zap"
)

// Restore implements etcd.Release.
func (Release) Restore(settings *embed.Config, from string, bump int64) (applied uint64, revision int64, err error) {
	opened := backend.DefaultBackendConfig()
	opened.Path, opened.MmapSize = filepath.Join(from, "member", "snap", "db"), uint64(settings.QuotaBackendBytes)
	database := backend.New(opened)
	applied, _ = cindex.ReadConsistentIndex(database.ReadTx())
	if err := database.Close(); err != nil {
		return 0, 0, fmt.Errorf("close the database: %w", err)
	}
	restorer := snapshot.NewV3(zap.NewNop())
	if bump > 0 {
		status, err := restorer.Status(opened.Path)
		if err != nil {
			return 0, 0, fmt.Errorf("look at the snapshot: %w", err)
		}
		revision = status.Revision + bump
	}
	return applied, revision, restorer.Restore(snapshot.RestoreConfig{
		SnapshotPath:        opened.Path,
		SkipHashCheck:       true, // it is a copied database, not one that was sent
		Name:                settings.Name,
		PeerURLs:            []string{settings.AdvertisePeerUrls[0].String()},
		InitialCluster:      settings.InitialCluster,
		InitialClusterToken: "restored",
		OutputDataDir:       settings.Dir,
		RevisionBump:        uint64(bump),
		MarkCompacted:       bump > 0,
	})
}
