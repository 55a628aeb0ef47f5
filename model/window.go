package model

// Window is the stretch of history that a watch cache can serve: every change
// with an RV in (Since, Newest]. Since is not below the RV of the cache's last
// list, and rises as old changes are dropped to make room. Newest rises with
// etcd's revision and lags behind it.
type Window struct{ Since, Newest int64 }

// Answer returns how a server answers a watch: OK if it serves it, or the error
// that it refuses it with.
//
//   - The state is always there to be sent as an initial block, but a server
//     that has not reached the RV that the block must be at waits, and if that
//     takes too long, says TooLarge.
//   - A watch from an RV needs every change after it. Where the window begins
//     later, the answer is Expired, 410 Gone: the client has to list again.
//   - A watch from an RV that lies in the future is served. Nothing arrives until
//     that RV has passed.
func (win Window) Answer(w Watch) Code {
	switch {
	case w.HasBlock() && w.Oldest() > win.Newest:
		return TooLarge
	case !w.HasBlock() && w.RV < win.Since:
		return Expired
	}
	return OK
}

// MayRefuse reports whether a server may answer a watch with the error, when
// etcd had at most reached the given revision. Which window a server has cannot
// be known from outside. But no window is ahead of etcd: a watch from etcd's own
// revision is always within it, and RV 0 asks for whatever there is.
//
// With an initial block, there is no RV to be too old. But a watch may open,
// fall behind before its first event, and be told so by a 410; and a server that
// reads the block from etcd may lose a race with a compaction. An RV in the
// future is refused by some servers even without a block.
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
// so the state at the compaction's own revision can still be read. Watches stop one
// lower: a client that watches from rv asks etcd for start revision rv+1.
func ReadRefused(rv, compacted int64) bool { return rv < compacted }
