package linearizability

import (
	"cmp"
	"slices"
	"time"

	"github.com/watchsim/watchsim/model"
)

const (
	// MinBacklog is the minimum number of changes and bookmarks that a server queues for a
	// slow consumer before it ends the stream: the shortest channel of a cacheWatcher
	// (minWatchChanSize).
	MinBacklog = 10
	// bookmarkEvery is how long a server waits between two bookmarks on a stream, apart
	// from the one that marks the end of the initial events and the one before a timeout:
	// the cacher's defaultBookmarkFrequency.
	bookmarkEvery = time.Minute
	// MinStreamTimeout is the minimum age at which a server ends a stream for which the
	// client set no timeout: kube-apiserver's default of --min-request-timeout.
	MinStreamTimeout = 30 * time.Minute
)

// heldBack returns the minimum number of changes that a server queues for a watch. A watch
// that still replays the window is ended when its cache has dropped the next change.
func (c Config) heldBack() int {
	if c.Window > 0 {
		return min(MinBacklog, c.Window)
	}
	return MinBacklog
}

// judgeEnds judges Closed: whether each stream that ended had a reason to end.
//
// A stream that its client cancelled needs none, and one that was refused is judged
// under Expired and TooLarge. Of the others, only a fault can break a connection, and
// a server ends a stream only if it is too old, its consumer is too slow, the server
// stops or its cache relists. The rule reports an end only if all of these are ruled
// out: by another stream that continued, by the cache's window before and after, or
// because nothing had happened yet.
func judgeEnds(f *facts, out *findings) {
	for _, w := range f.walks {
		s := w.stream
		if s.Err != model.OK || s.Closed == model.Pending || s.Refusal() != model.OK {
			continue
		}
		switch {
		case s.Reason == model.ClosedByServer || s.Reason == model.ClosedByError || failureOf(s) >= 0:
			w.judgeEnded(out)
		case s.Reason == model.ClosedByReset:
			w.judgeCut(out)
		}
	}
}

// failureOf returns the index of the first ERROR event, -1 if there is none. The client
// may have been the one to close the stream after it.
func failureOf(s *model.Stream) int {
	return slices.IndexFunc(s.Events, func(e model.Event) bool { return e.Type == model.Error })
}

// judgeEnded judges a stream that its server ended.
func (w *walk) judgeEnded(out *findings) {
	s := w.stream
	ended := s.Closed
	if failed := failureOf(s); failed >= 0 {
		ended = s.Events[failed].Time
	}
	atMostQueued, heldBack := w.queued(ended), w.facts.config.heldBack()
	if w.isOld(ended) || atMostQueued >= heldBack {
		return
	}
	witness := onStream(s).want(int64(heldBack)).got(int64(atMostQueued)).at(ended)
	began := s.Call
	if w.newest != nil {
		began = max(began, w.facts.bounds.notBefore(w.newest.RV))
	}
	other := w.facts.witnesses[s.Server].survivor(began, ended, func(other *walk) bool {
		return other != w && !w.facts.replaced(s.Server, min(s.Call, other.stream.Call), ended)
	})
	if w.facts.cached && other != nil {
		witness.RVs = []int64{other.newest.RV}
		out.violate(Closed, endedAlone, witness.showing(other.newest).proof(other.stream, nil))
		return
	}
	if _, filled := w.facts.heldSince(s.Server, s.Call, ended); filled && !mayBypassCache(s) {
		out.violate(Closed, endedBesideCache, witness.since(s.Return))
		return
	}
	if !w.facts.mayEnd(s.Server, ended) {
		out.violate(Closed, endedCauseless, witness)
	}
}

// isOld reports whether a stream was so old that its server may end it.
func (w *walk) isOld(ended int64) bool {
	return ended-w.stream.Call >= cmp.Or(w.stream.Timeout, MinStreamTimeout.Nanoseconds())
}

// queued returns the most events that can have been queued in the server for the
// stream's consumer when the stream ended.
//
// A queue is first in, first out: everything dispatched up to an event that arrived
// has left it. That holds for events that cannot have been in the cache when the
// stream opened. Others may be queued twice: as the stream's first events, and as
// what the cache was about to dispatch at that time, which is dropped only when it
// is taken out of the queue. Until a later event arrives, everything counts that had
// not been dispatched when the stream opened, or has not arrived.
func (w *walk) queued(ended int64) int {
	s, f := w.stream, w.facts
	registered := s.Return
	if mark := s.Mark(); mark >= 0 {
		// A server that gives up a consumer during the initial events may deliver
		// what is in the queue first.
		registered = s.Events[mark].Time
	}
	after := int64(0)
	if limit := f.bounds.maxRV(registered); w.newest != nil && w.newest.RV > limit {
		after = w.newest.RV
	} else if dispatched, ok := f.witnesses[s.Server].dispatched().Before(s.Call); ok && !f.replaced(s.Server, 0, registered) {
		after = min(dispatched.RV, w.high)
	}
	count := f.store.CountChanges(after, f.bounds.maxRV(ended))
	if s.Bookmarks {
		count += 3 + int((ended-s.Call)/bookmarkEvery.Nanoseconds())
	}
	return count
}

// judgeCut judges a stream whose connection broke. Only a fault between the two
// ends, or at one of them, breaks a connection: one that was active at some time during
// the connection, and that names no process other than its two ends.
func (w *walk) judgeCut(out *findings) {
	s := w.stream
	elsewhere := func(name string) bool { return name != s.Client && name != s.Server }
	if !slices.ContainsFunc(w.facts.history.Faults, func(fault model.Fault) bool {
		return fault.Begin <= s.Closed && fault.End >= s.Call && !slices.ContainsFunc(fault.Processes, elsewhere)
	}) {
		out.violate(Closed, connectionLost, onStream(s).at(s.Closed))
	}
}

// minLeaderless is less than the shortest election timeout of a scenario, 200 ms.
const minLeaderless = int64(100 * time.Millisecond)

// mayEnd reports whether something had happened by the given time that can make a
// server stop or relist. A cache may take any time to notice, so it may have happened
// at any time before.
func (f *facts) mayEnd(server string, by int64) bool {
	for fault := range model.Each(f.history.Faults) {
		if fault.Begin <= by && f.parties.stops(fault, server) {
			return true
		}
	}
	for _, compaction := range f.history.Truth.Compactions {
		if compaction.Time <= by {
			return true // a cache whose watch on etcd is behind the compaction must relist
		}
	}
	for i, leader := range f.history.Leaders {
		// Members end the watches that require a leader, such as those of Kubernetes, when
		// they have known no leader for an election timeout (v3rpc, monitorLeader), even if
		// another member leads. A member may still know none when a run begins.
		lasts := i > 0 || i+1 < len(f.history.Leaders) && f.history.Leaders[i+1].Time > minLeaderless
		if lasts && leader.Time <= by && (leader.Member == "" || leader.Leaderless > 0) {
			return true
		}
	}
	return false
}

// stops reports whether a fault can make a server stop or relist: one on itself, on etcd, or
// between the two. Processes that are neither clients nor servers are etcd members, of which
// the history says nothing more.
func (p parties) stops(fault *model.Fault, server string) bool {
	return !slices.ContainsFunc(fault.Processes, func(name string) bool { return p.clients[name] || p.servers[name] && name != server })
}
