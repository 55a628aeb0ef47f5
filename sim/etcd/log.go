package etcd

import (
	"bytes"
	"fmt"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
)

// raftLog is what one member has on disk of the cluster's log.
type raftLog struct {
	dir string
	// entries are those with indexes 1, 2, 3, ...
	entries []*raftpb.Entry
	// commit is the highest index the member has recorded as committed. The
	// member may know of more: it writes the record down with the next entry.
	commit uint64
}

// readLog reads a member's write-ahead log without taking its locks. A record
// that a crash cut short ends the log. A folder without a log is that of a
// member that never ran.
func readLog(dir string) (raftLog, error) {
	log := raftLog{dir: dir}
	path := filepath.Join(dir, "member", "wal")
	if !wal.Exist(path) {
		return log, nil
	}
	reader, err := wal.OpenForRead(zap.NewNop(), path, &walpb.Snapshot{})
	if err != nil {
		return log, fmt.Errorf("open the log of %s: %w", dir, err)
	}
	defer reader.Close()
	_, state, entries, err := reader.ReadAll()
	if err != nil {
		return log, fmt.Errorf("read the log of %s: %w", dir, err)
	}
	log.entries, log.commit = entries, state.GetCommit()
	if log.commit > uint64(len(entries)) {
		return log, fmt.Errorf("the log of %s ends at entry %d, before its commit index %d",
			dir, len(entries), log.commit)
	}
	return log, nil
}

// newer says whether a log would win an election against another.
func (l raftLog) newer(other raftLog) bool {
	a, b := l.lastTerm(), other.lastTerm()
	return a > b || a == b && len(l.entries) > len(other.entries)
}

func (l raftLog) lastTerm() uint64 {
	if len(l.entries) == 0 {
		return 0
	}
	return l.entries[len(l.entries)-1].GetTerm()
}

// has says whether the log holds the entry. By raft's log matching property
// index and term identify it, and everything before it.
func (l raftLog) has(entry *raftpb.Entry) bool {
	i := entry.GetIndex() - 1
	return i < uint64(len(l.entries)) && l.entries[i].GetTerm() == entry.GetTerm()
}

// settled returns the entries that are committed, or that any leader the
// members can still elect will commit: those of the most advanced log up to
// the last one a majority has.
//
// The members' own commit indexes would be too low a bound. They reach the disk
// with the next entry only, so the last write of a run, though acknowledged,
// lies beyond them.
func settled(logs []raftLog) ([]*raftpb.Entry, error) {
	var best raftLog
	var commit uint64
	for _, log := range logs {
		commit = max(commit, log.commit)
		if log.newer(best) {
			best = log
		}
	}
	end := uint64(len(best.entries))
	for ; end > 0; end-- {
		holders := 0
		for _, log := range logs {
			if log.has(best.entries[end-1]) {
				holders++
			}
		}
		if 2*holders > len(logs) {
			break
		}
	}
	if end < commit {
		return nil, fmt.Errorf("entry %d is committed, but no majority of the logs has it", commit)
	}
	return best.entries[:end], agree(logs, best.entries[:end])
}

// agree checks that no member recorded as committed what is not what all
// committed, and that entries which are the same say the same.
func agree(logs []raftLog, entries []*raftpb.Entry) error {
	for _, log := range logs {
		for i, entry := range entries[:min(len(entries), len(log.entries))] {
			same := log.has(entry)
			if !same && entry.GetIndex() > log.commit {
				break
			}
			if !same || !bytes.Equal(entry.Data, log.entries[i].Data) {
				return fmt.Errorf("members disagree on committed entry %d: %s has term %d, the most advanced log term %d",
					entry.GetIndex(), log.dir, log.entries[i].GetTerm(), entry.GetTerm())
			}
		}
	}
	return nil
}
