package etcd35

import (
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
	return etcd.ReadLog(dir, wal.Exist, wal.ValidSnapshotEntries, readAfter, wal.ErrSliceOutOfRange)
}

// readAfter reads the entries after a snapshot from the log at path.
func readAfter(path string, snapshot walpb.Snapshot) (etcd.MemberLog, error) {
	log := etcd.MemberLog{Snapshot: snapshot.Index, SnapshotTerm: snapshot.Term}
	reader, err := wal.OpenForRead(zap.NewNop(), path, snapshot)
	if err != nil {
		return log, err
	}
	defer reader.Close()
	_, state, entries, err := reader.ReadAll()
	if err != nil {
		return log, err
	}
	log.Commit = max(log.Snapshot, state.Commit)
	for _, entry := range entries {
		log.Entries = append(log.Entries, etcd.LogEntry{
			Index: entry.Index, Term: entry.Term, Normal: entry.Type == raftpb.EntryNormal, Data: entry.Data,
		})
	}
	return log, nil
}
