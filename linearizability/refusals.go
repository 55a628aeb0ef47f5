package linearizability

import (
	"fmt"

	"github.com/watchsim/watchsim/model"
)

// refusalOf returns why a watch was refused: the error it was opened with, or
// the ERROR event that came first. Kubernetes answers a watch it cannot serve
// with the latter.
func refusalOf(s *model.Stream) model.Code {
	if s.Err == model.OK && len(s.Events) > 0 && s.Events[0].Type == model.Error {
		return s.Events[0].Err
	}
	return s.Err
}

// answeredAt returns when a client was told that its watch was refused.
func answeredAt(s *model.Stream) int64 {
	if s.Err == model.OK && len(s.Events) > 0 {
		return s.Events[0].Time
	}
	return s.Return
}

// checkRefusals judges refusals for Expired and TooLarge. For those that are
// missing see unrefused.go.
func (c *checker) checkRefusals() {
	for i := range c.history.Streams {
		s := &c.history.Streams[i]
		switch refusalOf(s) {
		case model.Expired:
			c.counts.Refused++
			c.counts.Gone++
			c.checkWatchExpired(s, answeredAt(s))
		case model.TooLarge:
			c.counts.Refused++
			if why := c.reached(s.RV, s.Server, s.Call); why != "" {
				c.violate(TooLarge, Witness{Client: s.Client, Stream: s.ID, RVs: []int64{s.RV}},
					fmt.Sprintf("%s was refused as too large, but %s", describeStream(s), why))
			}
		}
	}
	pages := c.newPages()
	for i := range c.history.Operations {
		op := &c.history.Operations[i]
		if op.Return == model.Pending || (op.Kind != model.Get && op.Kind != model.List) {
			continue
		}
		switch {
		case op.Err == model.Expired:
			c.counts.Refused++
			c.counts.Gone++
			c.checkReadExpired(op, pages)
		case op.Err == model.TooLarge:
			c.counts.Refused++
			if op.Continues != 0 {
				continue // its RV is the token's, which may come from another server
			}
			if why := c.reached(op.RV, op.Server, op.Call); why != "" {
				c.violate(TooLarge, witnessOf(op, op.RV),
					fmt.Sprintf("%s was refused as too large, but %s", describeOperation(op), why))
			}
		}
	}
}

// checkWatchExpired judges a watch that was refused with 410.
//
// A cache holds changes from the RV L of its last list on, and may have dropped
// the oldest of them; it may list anew at any time. All that is certain is that L
// is not above etcd's revision: a start from that revision is always held. More
// is certain where another stream of the server witnesses that the cache has not
// listed anew: see heldSince.
func (c *checker) checkWatchExpired(s *model.Stream, answered int64) {
	witness := Witness{Client: s.Client, Stream: s.ID, RVs: []int64{s.RV}}
	if hasBlock(s) {
		// There is no start to be too old. But a stream may open, fall behind
		// before its first event and be told so by one that says 410; and a
		// server that reads the block from etcd may lose a race with compaction.
		rv, _ := c.bounds.atLeast(s.Call)
		if s.Err == model.Expired && c.history.Truth.CompactedBy(answered) <= rv {
			c.violate(Expired, witness, describeStream(s)+" was refused with 410, but asks for the current state")
		}
		return
	}
	latest := c.bounds.atMost(answered)
	if s.RV >= latest {
		c.violate(Expired, witness,
			fmt.Sprintf("%s was refused with 410, but etcd was at most at revision %d by then", describeStream(s), latest))
		return
	}
	if c.store.CountChanges(s.RV, latest) >= c.config.Window {
		return
	}
	for _, other := range c.evidence[s.Server].begun {
		if heldSince(other, s, latest) {
			witness.Events = []*model.Event{other.newest}
			c.violate(Expired, witness,
				fmt.Sprintf("%s was refused with 410, but %s began at RV %d before it and still sent %s, so the cache had not listed anew, and it holds the last %d changes",
					describeStream(s), describeStream(other.stream), other.start, describeEvent(other.newest), c.config.Window))
			return
		}
	}
}

// heldSince reports whether another stream shows that the cache held everything
// since that stream's start until the refused watch was answered. A cache that
// lists anew ends all its streams, so a stream that began before the refused
// watch was called, and that delivered a change committed after it was answered,
// has seen no new list in between. And as it began at its start, the cache's last
// list is not above that.
func heldSince(other *walk, refused *model.Stream, latest int64) bool {
	return other.stream.Return < refused.Call && !other.partial && other.start <= refused.RV && newestRV(other) > latest
}

// checkReadExpired judges a get or list that was refused with 410. What the
// cache does not hold, etcd answers, so only a compaction justifies it.
func (c *checker) checkReadExpired(op *model.Operation, pages pages) {
	compacted := c.history.Truth.CompactedBy(op.Return)
	// A read of the current state, done in several steps, may lose a race with a
	// compaction above what was committed when it was called.
	rv, _ := c.bounds.atLeast(op.Call)
	if op.Kind == model.List && op.Continues == 0 && freshnessOf(op) == exactly {
		rv = op.RV
	}
	if op.Continues != 0 {
		p, known := pages.of(op)
		if !known {
			return
		}
		if p.rv != 0 {
			rv = p.rv
		}
	}
	if !model.ReadRefused(rv, compacted) {
		c.violate(Expired, witnessOf(op, rv),
			fmt.Sprintf("%s was refused with 410, but RV %d cannot have been compacted: the last compaction by then was at RV %d",
				describeOperation(op), rv, compacted))
	}
}

// reached says why a server had certainly reached an RV when a request was
// called; empty if that is not certain. A cache may lag behind etcd for as long as
// faults last, so what etcd had committed proves nothing. What proves it is that
// the server had sent an event of that RV already: no cache goes back behind
// what it has sent, not even after a restart, as it then lists what etcd has.
//
// A request without an RV may wait for the newest, which the cache may lag
// behind; a watch does so too where it is treated as one that asks for initial
// events (SetListOptionsDefaults in apimachinery).
func (c *checker) reached(rv int64, server string, called int64) string {
	switch rv {
	case 0:
		return "asks for no particular RV"
	case model.RVUnset:
		return ""
	}
	e := c.evidence[server]
	if e == nil {
		return ""
	}
	if last, ok := e.sentBefore(called); ok && last.rv >= rv {
		return fmt.Sprintf("its server had sent %s to stream %d", describeEvent(last.event), last.walk.stream.ID)
	}
	return ""
}
