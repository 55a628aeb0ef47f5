package etcd

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
)

// raftLog is what one member has on disk of the cluster's log.
type raftLog struct {
	dir string
	// snapshot is what the log begins after, index and term 0 for the very
	// beginning. A leader sends a member that lags far behind a snapshot of the
	// store instead of the entries it has missed.
	snapshot, snapshotTerm uint64
	// entries are those with the indexes snapshot+1, snapshot+2, ...
	entries []*raftpb.Entry
	// commit is the highest index the member has recorded as committed. The
	// member may know of more: it writes the record down with the next entry.
	commit uint64
}

// readLog reads a member's write-ahead log without taking its locks. A record
// that a crash cut short ends the log. A folder without a log is that of a
// member that never ran.
func readLog(dir string) (raftLog, error) {
	path := filepath.Join(dir, "member", "wal")
	if !wal.Exist(path) {
		return raftLog{dir: dir}, nil
	}
	log, err := readLogAfter(dir, path, &walpb.Snapshot{})
	if !errors.Is(err, wal.ErrSliceOutOfRange) {
		return log, err
	}
	// Entries are missing in the middle: they came as a snapshot.
	snapshots, err := wal.ValidSnapshotEntries(zap.NewNop(), path)
	if err != nil {
		return log, fmt.Errorf("read the snapshots of %s: %w", dir, err)
	}
	return readLogAfter(dir, path, snapshots[len(snapshots)-1])
}

func readLogAfter(dir, path string, snapshot *walpb.Snapshot) (raftLog, error) {
	log := raftLog{dir: dir, snapshot: snapshot.GetIndex(), snapshotTerm: snapshot.GetTerm()}
	reader, err := wal.OpenForRead(zap.NewNop(), path, snapshot)
	if err != nil {
		return log, fmt.Errorf("open the log of %s: %w", dir, err)
	}
	defer reader.Close()
	_, state, entries, err := reader.ReadAll()
	if err != nil {
		return log, fmt.Errorf("read the log of %s: %w", dir, err)
	}
	log.entries, log.commit = entries, max(log.snapshot, state.GetCommit())
	if log.commit > log.last() {
		return log, fmt.Errorf("the log of %s ends at entry %d, before its commit index %d", dir, log.last(), log.commit)
	}
	return log, nil
}

// last is the index of the last entry, or of the snapshot if none follows it.
func (l raftLog) last() uint64 { return l.snapshot + uint64(len(l.entries)) }

// newer says whether a log would win an election against another.
func (l raftLog) newer(other raftLog) bool {
	a, b := l.term(l.last()), other.term(other.last())
	return a > b || a == b && l.last() > other.last()
}

// term is that of an entry that the log holds or whose snapshot it begins
// after; 0 for any other.
func (l raftLog) term(index uint64) uint64 {
	switch {
	case index == l.snapshot:
		return l.snapshotTerm
	case index < l.snapshot || index > l.last():
		return 0
	}
	return l.entries[index-l.snapshot-1].GetTerm()
}

// has says whether the log has the entry, or begins after it. By raft's log
// matching property index and term identify it, and everything before it.
func (l raftLog) has(entry *raftpb.Entry) bool { return l.term(entry.GetIndex()) == entry.GetTerm() }

// whole returns the log's entries from the very beginning on, the first of them
// from another member's log if this one begins after a snapshot.
func (l raftLog) whole(logs []raftLog) ([]*raftpb.Entry, error) {
	if l.snapshot == 0 {
		return l.entries, nil
	}
	for _, other := range logs {
		if other.snapshot == 0 && other.term(l.snapshot) == l.snapshotTerm {
			return append(slices.Clone(other.entries[:l.snapshot]), l.entries...), nil
		}
	}
	return nil, fmt.Errorf("%s begins after a snapshot of entry %d, and no other log goes from the beginning to there", l.dir, l.snapshot)
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
	entries, err := best.whole(logs)
	if err != nil {
		return nil, err
	}
	end := uint64(len(entries))
	for ; end > 0; end-- {
		holders := 0
		for _, log := range logs {
			if log.has(entries[end-1]) {
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
	return entries[:end], agree(logs, entries[:end])
}

// agree checks that no member recorded as committed what is not what all
// committed, and that entries which are the same say the same.
func agree(logs []raftLog, entries []*raftpb.Entry) error {
	for _, log := range logs {
		for i, own := range log.entries {
			index := log.snapshot + uint64(i) + 1
			if index > uint64(len(entries)) {
				break
			}
			entry := entries[index-1]
			same := log.has(entry)
			if !same && index > log.commit {
				break
			}
			if !same || !bytes.Equal(entry.Data, own.Data) {
				return fmt.Errorf("members disagree on committed entry %d: %s has term %d, the most advanced log term %d",
					index, log.dir, own.GetTerm(), entry.GetTerm())
			}
		}
	}
	return nil
}
