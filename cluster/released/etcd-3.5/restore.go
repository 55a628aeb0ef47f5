package etcd35

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/cindex"
	"go.etcd.io/etcd/server/v3/mvcc/backend"
	"go.uber.org/zap"
)

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
	config := snapshot.RestoreConfig{
		SnapshotPath:        opened.Path,
		SkipHashCheck:       true, // a copied database has no hash appended, unlike a saved snapshot
		Name:                settings.Name,
		PeerURLs:            []string{settings.AdvertisePeerUrls[0].String()},
		InitialCluster:      settings.InitialCluster,
		InitialClusterToken: "restored",
		OutputDataDir:       settings.Dir,
	}
	if bump > 0 {
		if err := bumpBy(&config, uint64(bump)); err != nil {
			return 0, 0, err
		}
	}
	return applied, revision, restorer.Restore(config)
}

// bumpBy makes a restore raise the revision. It sets fields by name, as `simrun bisect` also builds
// this with releases that lack them: 3.5.9 and older.
func bumpBy(config *snapshot.RestoreConfig, revisions uint64) error {
	fields := reflect.ValueOf(config).Elem()
	bump, compacted := fields.FieldByName("RevisionBump"), fields.FieldByName("MarkCompacted")
	if !bump.IsValid() || !compacted.IsValid() {
		return errors.New("expected a release of etcd that can raise the revision when it restores a snapshot (3.5.10 and newer), found an older one")
	}
	bump.SetUint(revisions)
	compacted.SetBool(true)
	return nil
}
