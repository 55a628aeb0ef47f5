package etcd35

import (
	"errors"
	"fmt"
	"path/filepath"

	"go.etcd.io/etcd/raft/v3/raftpb"
	"go.etcd.io/etcd/server/v3/wal"
	"go.etcd.io/etcd/server/v3/wal/walpb"
	"go.uber.org/zap"

	"github.com/watchsim/watchsim/cluster/etcd"
)

// segmentBytes is the size of one file of the write-ahead log. A run fills less than
// one of etcd's 64 MB, of which each boot allocates two.
const segmentBytes = 256 << 10

// init shrinks the log's segments, which only a package variable of etcd allows. It does so here
// because members of one process boot concurrently.
func init() { wal.SegmentSizeBytes = segmentBytes }

func (Release) ReadLog(dir string) (etcd.MemberLog, error) {
	path := filepath.Join(dir, "member", "wal")
	if !wal.Exist(path) {
		return etcd.MemberLog{Dir: dir}, nil
	}
	log, err := readAfter(dir, path, walpb.Snapshot{})
	if !errors.Is(err, wal.ErrSliceOutOfRange) {
		return log, err
	}
	// Entries are missing in the middle: they came as a snapshot.
	snapshots, err := wal.ValidSnapshotEntries(zap.NewNop(), path)
	if err != nil {
		return log, fmt.Errorf("read the snapshots of %s: %w", dir, err)
	}
	return readAfter(dir, path, snapshots[len(snapshots)-1])
}

// readAfter reads what follows a snapshot in the log at path.
func readAfter(dir, path string, snapshot walpb.Snapshot) (etcd.MemberLog, error) {
	log := etcd.MemberLog{Dir: dir, Snapshot: snapshot.Index, SnapshotTerm: snapshot.Term}
	reader, err := wal.OpenForRead(zap.NewNop(), path, snapshot)
	if err != nil {
		return log, fmt.Errorf("open the log of %s: %w", dir, err)
	}
	defer reader.Close()
	_, state, entries, err := reader.ReadAll()
	if err != nil {
		return log, fmt.Errorf("read the log of %s: %w", dir, err)
	}
	log.Commit = max(log.Snapshot, state.Commit)
	for _, entry := range entries {
		log.Entries = append(log.Entries, etcd.LogEntry{
			Index: entry.Index, Term: entry.Term, Normal: entry.Type == raftpb.EntryNormal, Data: entry.Data,
		})
	}
	return log, nil
}
