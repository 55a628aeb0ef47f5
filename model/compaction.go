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

// WatchRefused reports whether etcd, compacted at the given revision, refuses a
// watch that a Kubernetes client starts from rv.
//
// The client wants what happened after rv, so Kubernetes' etcd3 watcher asks for
// start revision rv+1. etcd's watcherGroup.chooseAll cancels a watcher with
// ErrCompacted if its minRev < compactRev. A watch from rv is therefore refused
// if and only if rv+1 < compacted: with a compaction at C, a watch from C-1
// still works, and still gets the change at C, a deletion included. etcd looks
// at this only while a watcher is behind: one that starts above the current
// revision, or has caught up, is never refused.
func WatchRefused(rv, compacted int64) bool { return rv+1 < compacted }

// ReadRefused reports whether etcd, compacted at the given revision, refuses a
// range read at rv.
//
// etcd's storeTxnCommon.rangeKeys returns ErrCompacted if rev < compactMainRev,
// so the state at the compaction's own revision can still be read. This is one
// higher than where watches stop.
func ReadRefused(rv, compacted int64) bool { return rv < compacted }
