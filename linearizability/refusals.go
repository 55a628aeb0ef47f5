package linearizability

import "github.com/watchsim/watchsim/model"

// answeredAt returns when a client learned that its watch was refused.
func answeredAt(s *model.Stream) int64 {
	if s.Err == model.OK && len(s.Events) > 0 {
		return s.Events[0].Time
	}
	return s.Return
}

// judgeRefusals judges refusals for Expired and TooLarge. For requests that should
// have been refused see unrefused.go.
func judgeRefusals(f *facts) findings {
	out := findings{most: f.config.ViolationsPerSource}
	for s := range model.Each(f.history.Streams) {
		switch s.Refusal() {
		case model.Expired:
			out.judged.Refused++
			out.judged.Gone++
			f.judgeWatchExpired(s, answeredAt(s), &out)
		case model.TooLarge:
			out.judged.Refused++
			f.judgeTooLarge(onStream(s, s.RV), s.RV, s.Call, &out)
		}
	}
	for op := range model.Each(f.history.Operations) {
		if op.Return == model.Pending || (op.Kind != model.Get && op.Kind != model.List) {
			continue
		}
		switch {
		case op.Err == model.Expired:
			out.judged.Refused++
			out.judged.Gone++
			f.judgeReadExpired(op, &out)
		case op.Err == model.TooLarge:
			out.judged.Refused++
			if op.Continues == 0 { // otherwise its RV is the token's, which may come from another server
				f.judgeTooLarge(about(op, op.RV), op.RV, op.Call, &out)
			}
		}
	}
	return out
}

// judgeWatchExpired judges a watch that was refused with 410.
//
// A cache holds changes from the RV L of its last list on, may have dropped the oldest
// of them, and may relist at any time. Only one thing is certain: L is not above etcd's
// revision, so that a watch from that revision can always be served. More is certain if
// the cache was sampled, or if another stream of the server proves that the cache has not
// relisted: see survivor.
func (f *facts) judgeWatchExpired(s *model.Stream, answered int64, out *findings) {
	witness := onStream(s, s.RV)
	if !f.cached {
		return // without a cache, etcd itself may end a client's watch with 410
	}
	if s.Watch().HasBlock() {
		// No start can be too old. But a stream may open, fall behind before its
		// first event and then receive 410; and a server that reads the block from
		// etcd may lose a race with compaction.
		if s.Err == model.Expired && f.history.Truth.CompactedBy(answered) <= f.bounds.reached(s.Call) {
			out.violate(Expired, refusedCurrent, witness)
		}
		return
	}
	latest := f.bounds.maxRV(answered)
	if s.RV >= latest {
		out.violate(Expired, refusedLatest, witness.want(latest))
		return
	}
	if since, filled := f.heldSince(s.Server, s.Call, answered); filled && since <= s.RV {
		out.violate(Expired, refusedInWindow, witness.want(since).since(s.Call).at(answered))
		return
	}
	if f.store.CountChanges(s.RV, latest) >= f.config.Window {
		return
	}
	// The last list of a cache that has not relisted is not above the RV that a stream started from.
	other := f.witnesses[s.Server].survivor(s.Call, answered, func(other *walk) bool {
		return other.start <= s.RV && !f.replaced(s.Server, other.stream.Call, answered)
	})
	if other != nil {
		out.violate(Expired, refusedHeld, witness.showing(other.newest).proof(other.stream, nil).want(other.start).got(int64(f.config.Window)))
	}
}

// judgeReadExpired judges a get or list that was refused with 410. etcd serves what
// the cache does not hold, so only a compaction justifies it.
func (f *facts) judgeReadExpired(op *model.Operation, out *findings) {
	compacted := f.history.Truth.CompactedBy(op.Return)
	// A read of the current state that takes several steps may lose a race with a
	// compaction above the revision at its call.
	rv := f.bounds.reachedBefore(op)
	if op.Kind == model.List && op.Continues == 0 && freshnessOf(op) >= exactly {
		rv = op.RV
	}
	if op.Continues != 0 {
		p, known := f.pages.of(op)
		if !known {
			return
		}
		if p.rv != 0 {
			rv = p.rv
		}
	}
	if !model.ReadRefused(rv, compacted) {
		out.violate(Expired, refusedUncompacted, about(op, rv).want(compacted))
	}
}

// judgeTooLarge judges a request that was refused as too large: whether its server had
// certainly reached the RV when it was called. A cache may lag behind etcd for as long as
// faults last, so a commit in etcd proves nothing. It is proof that the server had already
// sent an event at that RV: a cache never goes back behind what it has sent, not even
// after a restart, as it then lists the current state of etcd. But if a server's storage
// is replaced, its old cache may be ahead of the new one.
//
// A request without an RV may wait for the newest, which the cache may lag behind; so
// may a watch that is treated as one with initial events (SetListOptionsDefaults in
// apimachinery).
func (f *facts) judgeTooLarge(witness Witness, rv, called int64, out *findings) {
	if rv == 0 {
		out.violate(TooLarge, tooLargeUnasked, witness)
	}
	e := f.witnesses[witness.Server()]
	if rv <= 0 || e == nil {
		return
	}
	if last, ok := e.sent().Before(called); ok && last.RV >= rv && !f.replaced(witness.Server(), last.Stream.Call, called) {
		out.violate(TooLarge, tooLargeReached, witness.proof(last.Stream, last.Event))
	}
}
