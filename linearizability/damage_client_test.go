package linearizability_test

import (
	"slices"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// reachable returns the highest revision that etcd can have reached by a time:
// one below the lowest that a later call made.
func reachable(h *model.History, time int64) int64 {
	revision := h.Truth.Revision
	for i := range h.Operations {
		if op := &h.Operations[i]; op.Object != nil && op.Err == model.OK && op.ResultRV > 0 && op.Call > time {
			revision = min(revision, op.ResultRV-1)
		}
	}
	return revision
}

// newestChange returns the RV of the last change that a stream brought, 0 if it
// brought none.
func newestChange(s *model.Stream) int64 {
	rv := int64(0)
	for i := range s.Events {
		if isChange(&s.Events[i]) {
			rv = s.Events[i].RV
		}
	}
	return rv
}

// outlived returns the streams that ended for a reason of their own, with next
// to nothing waiting for them, while an older stream of the server went on.
func outlived(h *model.History) []*model.Stream {
	store := model.NewStore(&h.Truth)
	return streams(h, func(s *model.Stream) bool {
		if !opened(s) || !afterBlock(s) || (s.Reason != model.ClosedByClient && s.Timeout == 0) {
			return false
		}
		reached, newest := reachable(h, s.Closed), newestChange(s)
		if newest <= reachable(h, s.Return) || store.CountChanges(newest, reached) > 5 {
			return false
		}
		return len(streams(h, func(other *model.Stream) bool {
			return opened(other) && afterBlock(other) && other.Server == s.Server && other.Return < s.Call && newestChange(other) > reached
		})) > 0
	})
}

// continuing returns the streams that continue another one.
func continuing(h *model.History) []*model.Stream {
	return streams(h, func(s *model.Stream) bool { return s.ResumesStream != 0 && opened(s) })
}

var clientDamages = []damage{
	at("end a stream for nothing", outlived, func(s *model.Stream) { s.Reason, s.Timeout = model.ClosedByServer, 0 }, linearizability.Closed),
	at("fail a stream for nothing", outlived, func(s *model.Stream) {
		s.Reason, s.Timeout = model.ClosedByError, 0
		s.Events = append(s.Events, model.Event{Stream: s.ID, Time: s.Closed, Type: model.Error, Err: model.Unknown, Message: "it failed"})
	}, linearizability.Closed),
	{"cut a connection that nothing happened to", func(c chooser, h *model.History) guarantees {
		s, ok := pick(c, streams(h, func(s *model.Stream) bool { return s.Reason == model.ClosedByReset }))
		if !ok {
			return nil
		}
		h.Faults = slices.DeleteFunc(h.Faults, func(f model.Fault) bool {
			return f.Begin >= s.Call && f.Begin <= s.Closed && slices.Contains(f.Processes, s.Server)
		})
		return guarantees{linearizability.Closed}
	}},
	at("resume above the last RV seen", continuing, func(s *model.Stream) { s.RV++ }, linearizability.Resumable),
	at("resume below the last RV seen", continuing, func(s *model.Stream) { s.RV-- }, linearizability.Resumable),
	onStreams("watch from above the list's RV", func(s *model.Stream) bool { return s.ResumesList != 0 && opened(s) },
		func(s *model.Stream) { s.RV++ }, linearizability.Resumable),
	{"lose what a client saw last", func(c chooser, h *model.History) guarantees {
		s, ok := pick(c, continuing(h))
		if !ok {
			return nil
		}
		before := streams(h, func(p *model.Stream) bool { return p.ID == s.ResumesStream })[0]
		if before.RV == s.RV {
			return nil // what came last was a bookmark at the start
		}
		before.Events = slices.DeleteFunc(before.Events, func(e model.Event) bool { return e.RV == s.RV })
		return guarantees{linearizability.Resumable}
	}},
	at("resume something else", continuing, func(s *model.Stream) { s.Selector = model.Selector{Labels: map[string]string{"app": "elsewhere"}} }, linearizability.Resumable),
	{"resume what had been resumed", func(c chooser, h *model.History) guarantees {
		s, ok := pick(c, streams(h, func(s *model.Stream) bool {
			return s.ResumesStream != 0 && opened(s) && streams(h, func(p *model.Stream) bool { return p.ID == s.ResumesStream })[0].ResumesStream != 0
		}))
		if !ok {
			return nil
		}
		s.ResumesStream = streams(h, func(p *model.Stream) bool { return p.ID == s.ResumesStream })[0].ResumesStream
		return guarantees{linearizability.Resumable}
	}},
	at("forget what an informer resumes", continuing, func(s *model.Stream) { s.ResumesStream = 0 }, linearizability.Resumable),
	{"go back in time on one server", func(c chooser, h *model.History) guarantees {
		type look struct {
			op *model.Operation
			rv int64
		}
		var places []look
		for _, op := range wholeLists(h, 0) {
			for _, s := range streams(h, func(s *model.Stream) bool {
				return opened(s) && afterBlock(s) && s.Client == op.Client && s.Server == op.Server
			}) {
				for i := range s.Events {
					if e := &s.Events[i]; isChange(e) && e.Time < op.Call {
						places = append(places, look{op, e.RV - 1})
					}
				}
			}
		}
		p, ok := pick(c, places)
		if !ok {
			return nil
		}
		listAt(h, p.op, p.rv)
		return guarantees{linearizability.Monotonic}
	}},
	{"go back in time when asked for the newest", func(c chooser, h *model.History) guarantees {
		type look struct {
			op *model.Operation
			rv int64
		}
		var places []look
		for _, op := range wholeLists(h, model.RVUnset) {
			for _, before := range operations(h, func(before *model.Operation) bool {
				return before.Kind == model.List && before.Err == model.OK && before.Client == op.Client && before.Return < op.Call && before.ResultRV > 1
			}) {
				places = append(places, look{op, before.ResultRV - 1})
			}
		}
		p, ok := pick(c, places)
		if !ok {
			return nil
		}
		listAt(h, p.op, p.rv)
		return guarantees{linearizability.MostRecent}
	}},
}
