package current

import (
	"cmp"

	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"

	"github.com/watchsim/watchsim/cluster/etcd"
)

func (Release) ReadLog(dir string) (etcd.MemberLog, error) {
	return etcd.ReadLog(dir, wal.Exist, wal.ValidSnapshotEntries, readAfter, wal.ErrSliceOutOfRange)
}

// readAfter reads the entries after a snapshot from the log at path.
func readAfter(path string, snapshot *walpb.Snapshot) (etcd.MemberLog, error) {
	snapshot = cmp.Or(snapshot, &walpb.Snapshot{})
	log := etcd.MemberLog{Snapshot: snapshot.GetIndex(), SnapshotTerm: snapshot.GetTerm()}
	reader, err := wal.OpenForRead(zap.NewNop(), path, snapshot)
	if err != nil {
		return log, err
	}
	defer reader.Close()
	_, state, entries, err := reader.ReadAll()
	if err != nil {
		return log, err
	}
	log.Commit = max(log.Snapshot, state.GetCommit())
	for _, entry := range entries {
		log.Entries = append(log.Entries, etcd.LogEntry{
			Index: entry.GetIndex(), Term: entry.GetTerm(), Normal: entry.GetType() == raftpb.EntryNormal, Data: entry.Data,
		})
	}
	return log, nil
}
