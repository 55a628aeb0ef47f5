package model

// CompactedBy returns the highest revision that etcd may have been compacted at
// by the given simulated time, 0 for none. A compaction whose time is unknown
// may have happened at any time.
func (t *Truth) CompactedBy(time int64) int64 {
	compacted := int64(0)
	for _, c := range t.Compactions {
		if c.Time == Pending || c.Time <= time {
			compacted = max(compacted, c.RV)
		}
	}
	return compacted
}

// ReadRefused reports whether etcd, compacted at the given revision, refuses a
// range read at rv.
//
// etcd's storeTxnCommon.rangeKeys returns ErrCompacted if rev < compactMainRev,
// so the state at the compaction's own revision can still be read. Watches stop one
// lower: a client that watches from rv asks etcd for start revision rv+1.
func ReadRefused(rv, compacted int64) bool { return rv < compacted }
