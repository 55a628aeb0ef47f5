// Package raftlog says what of a cluster's log is settled, from what each member has
// of it on disk. It knows no release of etcd: the types are its own.
package raftlog

import (
	"bytes"
	"fmt"
	"slices"
)

// Entry is one entry of the log.
type Entry struct {
	Index, Term uint64
	// Normal reports whether the data is a request of etcd's. Other entries change the
	// membership.
	Normal bool
	Data   []byte
}

// Log is what one member has on disk of the cluster's log.
type Log struct {
	// Dir is the member's data folder.
	Dir string
	// Snapshot is what the log begins after, index and term 0 for the very
	// beginning. A leader sends a member that lags far behind a snapshot of the
	// store instead of the entries it has missed.
	Snapshot, SnapshotTerm uint64
	// Entries are those with the indexes Snapshot+1, Snapshot+2, ...
	Entries []Entry
	// Commit is the highest index the member has recorded as committed. The
	// member may know of more: it writes the record down with the next entry.
	Commit uint64
}

// last is the index of the last entry, or of the snapshot if none follows it.
func (l Log) last() uint64 { return l.Snapshot + uint64(len(l.Entries)) }

// newer says whether a log would win an election against another.
func (l Log) newer(other Log) bool {
	a, b := l.term(l.last()), other.term(other.last())
	return a > b || a == b && l.last() > other.last()
}

// term is that of an entry that the log holds or whose snapshot it begins
// after; 0 for any other.
func (l Log) term(index uint64) uint64 {
	switch {
	case index == l.Snapshot:
		return l.SnapshotTerm
	case index < l.Snapshot || index > l.last():
		return 0
	}
	return l.Entries[index-l.Snapshot-1].Term
}

// has says whether the log has the entry, or begins after it. By raft's log
// matching property index and term identify it, and everything before it.
func (l Log) has(entry Entry) bool { return l.term(entry.Index) == entry.Term }

// whole returns the log's entries from the very beginning on, the first of them
// from another member's log if this one begins after a snapshot.
func (l Log) whole(logs []Log) ([]Entry, error) {
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

// Settled returns the entries that are committed, or that any leader the
// members can still elect will commit: those of the most advanced log up to
// the last one a majority has.
//
// The members' own commit indexes would be too low a bound. They reach the disk
// with the next entry only, so the last write of a run, though acknowledged,
// lies beyond them.
func Settled(logs []Log) ([]Entry, error) {
	var best Log
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
	return entries[:end], agree(logs, entries[:end])
}

// agree checks that no member recorded as committed what is not what all
// committed, and that entries which are the same say the same.
func agree(logs []Log, entries []Entry) error {
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
