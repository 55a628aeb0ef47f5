package linearizability_test

import (
	"slices"
	"time"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// fault records a fault that is over at once.
func (w *world) fault(name string, processes ...string) {
	w.h.Faults = append(w.h.Faults, model.Fault{Name: name, Begin: w.now, End: w.now, Processes: processes})
}

// disturb compacts, ends a stream, or has a cache relist.
func (w *world) disturb() {
	switch w.below(4) {
	case 0, 1:
		w.compact()
	case 2:
		if len(w.streams) > 0 {
			w.end(w.below(len(w.streams)))
		}
	case 3:
		w.relist()
	}
}

// end ends one stream for a reason that affects no other.
func (w *world) end(i int) {
	open := w.streams[i]
	stream := &w.h.Streams[open.index]
	if waiting := w.store().CountChanges(open.cursor, open.server.rv); waiting >= linearizability.MinBacklog {
		w.close(i, model.ClosedByServer) // it fell behind
		return
	}
	switch w.below(3) {
	case 0:
		w.close(i, model.ClosedByClient)
	case 1:
		w.fault("reset", stream.Server, stream.Client)
		w.close(i, model.ClosedByReset)
	case 2:
		stream.Timeout = w.now - stream.Call
		w.close(i, model.ClosedByServer)
	}
}

// relist has a cache relist, which ends all its streams, because it lost its
// watch on etcd or because its server was restarted.
func (w *world) relist() {
	s := w.server()
	w.advance(s, true)
	s.listed = w.revision
	name := []string{"watch-break", "apiserver-restart", "apiserver-crash"}[w.below(3)]
	w.fault(name, s.name)
	for i := len(w.streams) - 1; i >= 0; i-- {
		if w.streams[i].server != s {
			continue
		}
		reasons := []model.CloseReason{model.ClosedByServer, model.ClosedByError}
		if name == "apiserver-crash" {
			reasons = []model.CloseReason{model.ClosedByReset}
		}
		w.close(i, reasons[w.below(len(reasons))])
	}
}

func (w *world) close(i int, reason model.CloseReason) {
	stream := &w.h.Streams[w.streams[i].index]
	stream.Closed, stream.Reason = w.now, reason
	if reason == model.ClosedByError {
		stream.Events = append(stream.Events, model.Event{Stream: stream.ID, Time: w.now, Type: model.Error, Err: model.Unknown, Message: "internal error"})
	}
	w.streams = slices.Delete(w.streams, i, i+1)
}

// follower is a client that lists, watches from the list's RV, resumes at the last RV
// it saw, and relists when that has expired. It sometimes switches to another
// server.
type follower struct {
	client string
	scope  model.Scope
	server *server
	// watching is its stream's index in the history plus one, 0 if it has none.
	watching int
	// rv is the last RV it saw, 0 if it has to list; list and stream are where.
	rv           int64
	list, stream int
}

// act lets the follower take its next step.
func (f *follower) act(w *world) {
	switch {
	case f.server == nil || f.watching == 0 && w.below(6) == 0:
		f.server = w.server()
	case f.rv == 0:
		f.relist(w)
	case f.watching == 0:
		f.watch(w)
	case w.h.Streams[f.watching-1].Closed != model.Pending:
		f.leave(w)
	case w.below(3) == 0:
		i := slices.IndexFunc(w.streams, func(open *openStream) bool { return open.index == f.watching-1 })
		w.close(i, model.ClosedByClient)
		f.leave(w)
	}
}

func (f *follower) relist(w *world) {
	w.advance(f.server, false)
	op := w.operation(model.Operation{Kind: model.List, Server: f.server.name, Scope: f.scope, Remaining: -1})
	op.Client, op.Call, op.Return = f.client, w.now, w.now
	rv := f.server.rv
	if w.below(2) == 0 {
		op.RV, rv = model.RVUnset, w.revision
	}
	w.page(op, w.store().List(f.scope, model.Selector{}, rv), rv)
	f.rv, f.list, f.stream = rv, op.ID, 0
}

func (f *follower) watch(w *world) {
	stream := model.Stream{ID: len(w.h.Streams) + 1, Client: f.client, Server: f.server.name, Scope: f.scope,
		Call: w.now, Return: w.now, Closed: model.Pending, RV: f.rv, Bookmarks: true}
	if stream.ResumesStream = f.stream; f.stream == 0 {
		stream.ResumesList = f.list
	}
	if f.rv < f.server.listed {
		stream.Err, stream.Closed, f.rv = model.Expired, w.now, 0
	} else {
		f.watching = len(w.h.Streams) + 1
		w.streams = append(w.streams, &openStream{index: len(w.h.Streams), server: f.server, cursor: f.rv})
	}
	w.h.Streams = append(w.h.Streams, stream)
}

// leave records what the follower's stream had delivered when it ended.
func (f *follower) leave(w *world) {
	stream := &w.h.Streams[f.watching-1]
	for _, event := range stream.Events {
		if event.Type != model.Error {
			f.rv, f.stream = event.RV, stream.ID
		}
	}
	f.watching = 0
}

// census counts what the servers hold, in a phase of the run. Caches that do not
// tell how many watchers they have are as good as those that do.
func (w *world) census(at int64, phase model.Phase, etcdWatches func() int) {
	for _, s := range w.servers {
		census := model.Census{Time: at, Phase: phase, Server: s.name, Revision: w.revision, EtcdWatches: etcdWatches()}
		if phase == model.Serving {
			for _, open := range w.streams {
				if open.server == s {
					census.Streams++
				}
			}
		}
		if phase != model.Stopped {
			census.Goroutines = 20 + w.below(20) + census.Streams
		}
		if census.Watchers = census.Streams; w.below(4) == 0 {
			census.Watchers = model.Uncounted
		}
		w.h.Censuses = append(w.h.Censuses, census)
	}
}

// countEarly counts before the run has settled, when etcd may still hold watches
// of connections that are dead.
func (w *world) countEarly() {
	w.census(w.now, model.Serving, func() int { return w.below(9) })
}

// countLate counts when the run has settled, when the clients have left, and when
// the servers have been stopped. A cache that lists has no watch on etcd.
func (w *world) countLate() {
	settled := w.h.Healed + linearizability.DefaultConfig().DeliveryBound.Nanoseconds()
	own := func() int { return min(w.below(8), 1) }
	for i := range int64(3) {
		w.census(settled+i*time.Second.Nanoseconds(), model.Serving, own)
	}
	w.census(w.h.End+step, model.Left, own)
	w.census(w.h.End+2*step, model.Stopped, func() int { return 0 })
}
