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
