package etcd36

import (
	"fmt"
	"path/filepath"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.uber.org/zap"
)

// Restore implements etcd.Release.
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
