package workload

import (
	"sync"
	"time"

	"github.com/watchsim/watchsim/model"
)

// recorder collects what the clients did and saw. Operations and streams share one
// sequence of IDs, in order of Call. Once it is frozen, requests in flight stay
// pending.
type recorder struct {
	began time.Time

	mu         sync.Mutex
	lastID     int
	frozen     bool
	operations []*model.Operation
	streams    []*model.Stream
	informers  []model.Informer
}

func newRecorder(began time.Time) *recorder { return &recorder{began: began} }

// now returns the simulated time since the start of the run, in nanoseconds.
func (r *recorder) now() int64 { return int64(time.Since(r.began)) }

// beginOperation gives op an ID and a Call, and keeps a pending copy of it.
func (r *recorder) beginOperation(op *model.Operation) (record *model.Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastID++
	op.ID, op.Call, op.Return = r.lastID, r.now(), model.Pending
	record = new(*op)
	if !r.frozen {
		r.operations = append(r.operations, record)
	}
	return record
}

// endOperation replaces the pending copy with op, which has its response.
func (r *recorder) endOperation(record, op *model.Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	op.Return = r.now()
	if !r.frozen {
		*record = *op
	}
}

// beginStream gives stream an ID and a Call, and keeps a pending copy of it.
func (r *recorder) beginStream(stream *model.Stream) (record *model.Stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastID++
	stream.ID, stream.Call = r.lastID, r.now()
	stream.Return, stream.Closed = model.Pending, model.Pending
	record = new(*stream)
	if !r.frozen {
		r.streams = append(r.streams, record)
	}
	return record
}

// openStream records that the watch was opened, or why it failed.
func (r *recorder) openStream(record, stream *model.Stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	stream.Return = r.now()
	if stream.Err != model.OK {
		stream.Closed = stream.Return
	}
	if !r.frozen {
		*record = *stream
	}
}

// event records one event. It returns false if the stream is closed already: the client
// must not act on an event that is missing from the history.
func (r *recorder) event(record *model.Stream, event *model.Event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.frozen || record.Closed != model.Pending {
		return false
	}
	event.Stream, event.Time = record.ID, r.now()
	record.Events = append(record.Events, *event)
	return true
}

// closeStream records the end of a stream; later reasons are ignored.
func (r *recorder) closeStream(record *model.Stream, reason model.CloseReason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.frozen && record.Closed == model.Pending {
		record.Closed, record.Reason = r.now(), reason
	}
}

// lastChange returns the RV of the newest change known to a client, in a namespace or, for "", in
// all of them: its own writes, objects that it read, and events of a stream. No answer reveals an
// expiry, or a write whose answer was lost.
func (r *recorder) lastChange(namespace string) (newest int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	within := func(of string) bool { return namespace == "" || of == namespace }
	for _, op := range r.operations {
		switch {
		case op.Err != model.OK || op.Return == model.Pending:
		case op.Kind == model.Create || op.Kind == model.Update || op.Kind == model.Delete:
			if within(op.Scope.Namespace) {
				newest = max(newest, op.ResultRV)
			}
		default:
			for i := range op.Objects {
				if within(op.Objects[i].Namespace) {
					newest = max(newest, op.Objects[i].RV)
				}
			}
		}
	}
	for _, stream := range r.streams {
		for i := range stream.Events {
			if event := &stream.Events[i]; event.Object != nil && within(event.Object.Namespace) {
				newest = max(newest, event.RV)
			}
		}
	}
	return newest
}

// UnderWay reports whether requests for pages of lists, or for opening watches, are in
// flight.
type UnderWay struct{ Pages, Opening bool }

// underWay does not wait for the lock: it returns nothing while something is being
// recorded.
func (r *recorder) underWay() (newest int64, waiting map[string]UnderWay) {
	waiting = map[string]UnderWay{}
	if !r.mu.TryLock() {
		return 0, waiting
	}
	defer r.mu.Unlock()
	for _, op := range r.operations {
		newest = max(newest, op.ResultRV)
		if op.Return == model.Pending && op.Continues > 0 {
			waiting[op.Server] = UnderWay{true, waiting[op.Server].Opening}
		}
	}
	for _, s := range r.streams {
		if s.Return == model.Pending {
			waiting[s.Server] = UnderWay{waiting[s.Server].Pages, true}
		}
	}
	return newest, waiting
}

// freeze ends the recording, with the informers' final contents.
func (r *recorder) freeze(informers []model.Informer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.frozen {
		r.frozen, r.informers = true, informers
	}
}

// fill copies the recording into history, in order of ID.
func (r *recorder) fill(history *model.History) {
	r.mu.Lock()
	defer r.mu.Unlock()
	history.Operations = make([]model.Operation, 0, len(r.operations))
	for _, op := range r.operations {
		history.Operations = append(history.Operations, *op)
	}
	history.Streams = make([]model.Stream, 0, len(r.streams))
	for _, stream := range r.streams {
		history.Streams = append(history.Streams, *stream)
	}
	history.Informers = r.informers
}
