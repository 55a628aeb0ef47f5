package main

import (
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
)

// toAll is the watch ID that stands for all watches of a stream.
const toAll = -1

// watchStream carries any number of watches. One goroutine sends all its messages.
type watchStream struct {
	grpc.BidiStreamingServer[etcdserverpb.WatchRequest, etcdserverpb.WatchResponse]
	store   *store
	watches []*watch
	opened  int64 // watches so far
	asked   bool  // for progress
}

// watch is one of its watches.
type watch struct {
	id        int64
	from, end string
	next      int64 // the first revision whose events have not been sent
	previous  bool  // requested previous values
	progress  bool  // requested progress notifications
	active    bool  // was sent events since the last notification
}

// Watch implements etcdserverpb.WatchServer.
func (s *store) Watch(stream grpc.BidiStreamingServer[etcdserverpb.WatchRequest, etcdserverpb.WatchResponse]) error {
	w := &watchStream{BidiStreamingServer: stream, store: s}
	requests := make(chan *etcdserverpb.WatchRequest)
	go func() {
		defer close(requests)
		for {
			request, err := stream.Recv()
			if err != nil {
				return
			}
			select {
			case requests <- request:
			case <-stream.Context().Done():
				return
			}
		}
	}()
	ticker := time.NewTicker(s.progress)
	defer ticker.Stop()
	for {
		changed, err := w.catchUp()
		if err != nil {
			return err
		}
		select {
		case request, more := <-requests:
			if !more {
				return nil
			}
			err = w.handle(request)
		case <-changed:
		case <-ticker.C:
			err = w.tellProgress()
		case <-stream.Context().Done():
			err = stream.Context().Err()
		}
		if err != nil {
			return err
		}
	}
}

// handle opens or closes a watch, or notes a progress request.
func (w *watchStream) handle(request *etcdserverpb.WatchRequest) error {
	revision := w.store.newest()
	switch {
	case request.GetCreateRequest() != nil:
		create := request.GetCreateRequest()
		opened := &watch{
			id: w.opened, from: string(create.Key), end: string(create.RangeEnd), next: create.StartRevision,
			previous: create.PrevKv, progress: create.ProgressNotify,
		}
		if opened.next == 0 {
			opened.next = revision + 1
		}
		w.opened++
		w.watches = append(w.watches, opened)
		return w.Send(&etcdserverpb.WatchResponse{Header: header(revision), WatchId: opened.id, Created: true})
	case request.GetCancelRequest() != nil:
		id := request.GetCancelRequest().WatchId
		w.close(id)
		return w.Send(&etcdserverpb.WatchResponse{Header: header(revision), WatchId: id, Canceled: true})
	case request.GetProgressRequest() != nil && w.store.mistakes.hasty:
		return w.Send(&etcdserverpb.WatchResponse{Header: header(revision), WatchId: toAll})
	case request.GetProgressRequest() != nil:
		w.asked = true
	}
	return nil
}

func (w *watchStream) close(id int64) {
	w.watches = slices.DeleteFunc(w.watches, func(other *watch) bool { return other.id == id })
}

// catchUp sends the available events to all watches, and then the requested progress: the revision
// up to which all of them have been sent everything. changed is closed when there is more to send.
func (w *watchStream) catchUp() (changed <-chan struct{}, err error) {
	revision, changed := w.store.state()
	for _, one := range slices.Clone(w.watches) {
		events, compacted := w.store.eventsOf(one, revision)
		switch {
		case compacted > 0:
			w.close(one.id)
			err = w.Send(&etcdserverpb.WatchResponse{Header: header(revision), WatchId: one.id, Canceled: true, CompactRevision: compacted})
		case len(events) > 0:
			one.active = true
			err = w.Send(&etcdserverpb.WatchResponse{Header: header(revision), WatchId: one.id, Events: events})
		}
		if err != nil {
			return nil, err
		}
		one.next = max(one.next, revision+1)
	}
	if w.asked {
		w.asked = false
		err = w.Send(&etcdserverpb.WatchResponse{Header: header(revision), WatchId: toAll})
	}
	return changed, err
}

// tellProgress sends progress notifications to the watches that want them, unless events have just done so.
func (w *watchStream) tellProgress() error {
	for _, one := range w.watches {
		if one.progress && !one.active {
			// A watch may start in the future.
			revision := min(one.next-1, w.store.newest())
			if err := w.Send(&etcdserverpb.WatchResponse{Header: header(revision), WatchId: one.id}); err != nil {
				return err
			}
		}
		one.active = false
	}
	return nil
}

// newest returns the revision of the last change.
func (s *store) newest() int64 {
	revision, _ := s.state()
	return revision
}

// state returns the revision of the last change, and the channel that the next one closes.
func (s *store) state() (revision int64, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision, s.changed
}

// eventsOf returns the events not yet sent to a watch, up to a revision; or the compacted
// revision if some of them are compacted.
func (s *store) eventsOf(w *watch, last int64) (events []*mvccpb.Event, compacted int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.next <= s.compacted {
		return nil, s.compacted
	}
	for _, event := range s.events[s.after(w.next-1):s.after(last)] {
		if !within(string(event.Kv.Key), w.from, w.end) {
			continue
		}
		if !w.previous {
			event = &mvccpb.Event{Type: event.Type, Kv: event.Kv}
		}
		events = append(events, event)
	}
	return events, 0
}
