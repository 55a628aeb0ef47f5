package current

import (
	"errors"
	"fmt"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	"github.com/watchsim/watchsim/cluster/etcd"
)

func (Release) ReadLog(dir string) (etcd.MemberLog, error) {
	path := filepath.Join(dir, "member", "wal")
	if !wal.Exist(path) {
		return etcd.MemberLog{Dir: dir}, nil
	}
	log, err := readAfter(dir, path, &walpb.Snapshot{})
	if !errors.Is(err, wal.ErrSliceOutOfRange) {
		return log, err
	}
	// Entries are missing in the middle: the member received a snapshot instead.
	snapshots, err := wal.ValidSnapshotEntries(zap.NewNop(), path)
	if err != nil {
		return log, fmt.Errorf("read the snapshots of %s: %w", dir, err)
	}
	return readAfter(dir, path, snapshots[len(snapshots)-1])
}

// readAfter reads the entries after a snapshot from the log at path.
func readAfter(dir, path string, snapshot *walpb.Snapshot) (etcd.MemberLog, error) {
	log := etcd.MemberLog{Dir: dir, Snapshot: snapshot.GetIndex(), SnapshotTerm: snapshot.GetTerm()}
	reader, err := wal.OpenForRead(zap.NewNop(), path, snapshot)
	if err != nil {
		return log, fmt.Errorf("open the log of %s: %w", dir, err)
	}
	defer reader.Close()
	_, state, entries, err := reader.ReadAll()
	if err != nil {
		return log, fmt.Errorf("read the log of %s: %w", dir, err)
	}
	log.Commit = max(log.Snapshot, state.GetCommit())
	for _, entry := range entries {
		log.Entries = append(log.Entries, etcd.LogEntry{
			Index: entry.GetIndex(), Term: entry.GetTerm(), Normal: entry.GetType() == raftpb.EntryNormal, Data: entry.Data,
		})
	}
	return log, nil
}
