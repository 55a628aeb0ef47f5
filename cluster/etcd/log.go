package etcd

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"go.uber.org/zap"
)

// LogEntry is one entry of a cluster's log, independent of etcd's releases.
type LogEntry struct {
	Index, Term uint64
	// Normal says whether the data is an etcd request. Other entries change the membership.
	Normal bool
	Data   []byte
}

// MemberLog is one member's part of the cluster's log, as it is on disk.
type MemberLog struct {
	// Dir is the member's data folder.
	Dir string
	// Snapshot is the index after which the log begins; it and the term are 0 if the
	// log is complete. A leader sends a snapshot of the store to a member that lags far
	// behind, instead of the entries it has missed.
	Snapshot, SnapshotTerm uint64
	// Entries are those with the indexes Snapshot+1, Snapshot+2, ...
	Entries []LogEntry
	// Commit is the highest index the member has recorded as committed. The member may
	// know of more: it writes the record with the next entry.
	Commit uint64
}

// ReadLog reads the write-ahead log of the member in a folder by functions of a release, whose type of
// snapshots is S: whether there is a log, the snapshots that it names, and what follows one of them, or
// the beginning for the zero value. The error of the last is gap if entries are missing.
func ReadLog[S any](dir string, exists func(path string) bool, snapshots func(*zap.Logger, string) ([]S, error),
	after func(path string, snapshot S) (MemberLog, error), gap error) (MemberLog, error) {
	path := filepath.Join(dir, "member", "wal")
	if !exists(path) {
		return MemberLog{Dir: dir}, nil
	}
	var beginning S
	log, err := after(path, beginning)
	if errors.Is(err, gap) {
		// Entries are missing in the middle: the member received a snapshot instead.
		var named []S
		if named, err = snapshots(zap.NewNop(), path); err == nil {
			log, err = after(path, named[len(named)-1])
		}
	}
	if err != nil {
		err = fmt.Errorf("read the log of %s: %w", dir, err)
	}
	log.Dir = dir
	return log, err
}

// last returns the index of the last entry, or of the snapshot if there is none.
func (l MemberLog) last() uint64 { return l.Snapshot + uint64(len(l.Entries)) }

// newer reports whether a log would win an election against another.
func (l MemberLog) newer(other MemberLog) bool {
	a, b := l.term(l.last()), other.term(other.last())
	return a > b || a == b && l.last() > other.last()
}

// term returns the term of an entry in the log, or of the snapshot; 0 for any other
// index.
func (l MemberLog) term(index uint64) uint64 {
	switch {
	case index == l.Snapshot:
		return l.SnapshotTerm
	case index < l.Snapshot || index > l.last():
		return 0
	}
	return l.Entries[index-l.Snapshot-1].Term
}

// has reports whether the log contains the entry or its snapshot ends with it. By
// raft's log matching property, index and term identify an entry and all entries before
// it.
func (l MemberLog) has(entry LogEntry) bool { return l.term(entry.Index) == entry.Term }

// whole returns all entries up to the log's last one. If the log begins after a
// snapshot, another member's log provides the first ones.
func (l MemberLog) whole(logs []MemberLog) ([]LogEntry, error) {
	if l.Snapshot == 0 {
		return l.Entries, nil
	}
	for _, other := range logs {
		if other.Snapshot == 0 && other.term(l.Snapshot) == l.SnapshotTerm {
			return append(slices.Clone(other.Entries[:l.Snapshot]), l.Entries...), nil
		}
	}
	return nil, fmt.Errorf("%s begins after a snapshot of entry %d, and no other log goes from the beginning to there", l.Dir, l.Snapshot)
}

// settled returns the entries that are committed or that any electable leader will
// commit: those of the most advanced log up to the last one that a majority has.
//
// The members' own commit indexes are too low a bound: they reach the disk only with
// the next entry, so they do not cover the last write of a run, although it was
// acknowledged.
func settled(logs []MemberLog) ([]LogEntry, error) {
	var best MemberLog
	var commit uint64
	for _, log := range logs {
		if log.Commit > log.last() {
			return nil, fmt.Errorf("the log of %s ends at entry %d, before its commit index %d", log.Dir, log.last(), log.Commit)
		}
		commit = max(commit, log.Commit)
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
	return entries[:end], logsAgree(logs, entries[:end])
}

// logsAgree checks that every entry that a member recorded as committed is among the
// settled ones, and that entries with equal index and term have equal data.
func logsAgree(logs []MemberLog, entries []LogEntry) error {
	for _, log := range logs {
		for i, own := range log.Entries {
			index := log.Snapshot + uint64(i) + 1
			if index > uint64(len(entries)) {
				break
			}
			entry := entries[index-1]
			same := log.has(entry)
			if !same && index > log.Commit {
				break
			}
			if !same || !bytes.Equal(entry.Data, own.Data) {
				return fmt.Errorf("members disagree on committed entry %d: %s has term %d, the most advanced log term %d",
					index, log.Dir, own.Term, entry.Term)
			}
		}
	}
	return nil
}
