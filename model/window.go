package model

// Window is the part of history that a watch cache can serve: every change with an
// RV in (Since, Newest]. Since is not below the RV of the cache's last list, and
// increases as old changes are dropped to make room. Newest follows etcd's revision
// and lags behind it.
type Window struct{ Since, Newest int64 }

// Answer returns how a server responds to a watch: OK if it serves it, or the error
// with which it refuses it.
//
//   - The state can always be sent as an initial block, but a server that has not
//     reached the RV that the block must be at waits, and returns TooLarge if that
//     takes too long.
//   - A watch from an RV needs every change after it. If the window begins later,
//     the server returns Expired, 410 Gone, and the client must relist.
//   - A watch from an RV in the future is served. Nothing arrives until that RV has
//     passed.
func (win Window) Answer(w Watch) Code {
	switch {
	case w.HasBlock() && w.Oldest() > win.Newest:
		return TooLarge
	case !w.HasBlock() && w.RV < win.Since:
		return Expired
	}
	return OK
}

// MayRefuse reports whether a server may refuse a watch with the error, when etcd
// had reached at most the given revision. The window of a server is not visible to
// clients. But no window is ahead of etcd: a watch from etcd's own revision is always
// within it, and RV 0 requests any state.
//
// With an initial block, no RV can be too old. But a watch may open, fall behind
// before its first event, and then receive 410; and a server that reads the block
// from etcd may lose a race with a compaction. Some servers refuse an RV in the future
// even without a block.
func MayRefuse(w Watch, code Code, reached int64) bool {
	switch code {
	case Expired:
		return w.HasBlock() || w.RV < reached
	case TooLarge:
		return w.RV != 0
	}
	return true
}

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
// so the state at the compaction's own revision can still be read. Watches can
// start one lower: a watch from rv requests start revision rv+1 from etcd.
func ReadRefused(rv, compacted int64) bool { return rv < compacted }
