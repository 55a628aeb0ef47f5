package explain_test

import (
	"slices"

	"github.com/watchsim/watchsim/model"
)

const ms = 1_000_000 // nanoseconds

var (
	web = map[string]string{"app": "web"}
	db  = map[string]string{"app": "db"}
)

// object is one of the story's three: a/x, a/y and b/z.
func object(name string, labels map[string]string, value string, rv int64) model.Object {
	namespace := "a"
	if name == "z" {
		namespace = "b"
	}
	return model.Object{Namespace: namespace, Name: name, Labels: labels, Value: value, UID: "uid-" + name, RV: rv}
}

// states returns the story's objects by revision.
func states() map[int64]model.Object {
	return map[int64]model.Object{
		2: object("x", web, "v2", 2), 3: object("y", db, "v3", 3), 5: object("x", web, "v5", 5), 7: object("x", db, "v7", 7),
		8: object("z", web, "v8", 8), 10: object("y", db, "v3", 10), 12: object("x", web, "v12", 12),
	}
}

// story is a short history that obeys the model: a writer, a reader, a reflector
// and two watchers on one API server, whose cache loses its watch on etcd once.
func story() *model.History {
	all := states()
	at := func(rv int64) *model.Object { object := all[rv]; return &object }
	meant := func(rv int64) *model.Object {
		object := all[rv]
		object.RV, object.UID = 0, ""
		return &object
	}
	x, y := model.Scope{Namespace: "a", Name: "x"}, model.Scope{Namespace: "a", Name: "y"}
	write := func(id int, kind model.Kind, call, end int64, rv int64) model.Operation {
		return model.Operation{ID: id, Client: "writer-0", Server: "apiserver-0", Kind: kind, Call: call * ms, Return: end * ms, Object: meant(rv), ResultRV: rv, Remaining: -1}
	}
	read := func(id int, kind model.Kind, call int64, scope model.Scope, rv, result int64, objects ...int64) model.Operation {
		op := model.Operation{ID: id, Client: "reader-0", Server: "apiserver-0", Kind: kind, Call: call * ms, Return: (call + 5) * ms, Scope: scope, RV: rv, ResultRV: result, Remaining: -1}
		for _, rv := range objects {
			op.Objects = append(op.Objects, all[rv])
		}
		return op
	}
	event := func(time int64, kind model.EventType, rv int64) model.Event {
		return model.Event{Time: time * ms, Type: kind, RV: rv, Object: at(rv)}
	}
	leave := func(time, before, rv int64) model.Event {
		e := event(time, model.Deleted, before)
		e.RV, e.Object.RV = rv, rv
		return e
	}
	h := &model.History{
		Truth: model.Truth{
			Changes: []model.Change{{RV: 2, Object: all[2]}, {RV: 3, Object: all[3]}, {RV: 5, Object: all[5]}, {RV: 7, Object: all[7]},
				{RV: 8, Object: all[8]}, {RV: 10, Deleted: true, Object: all[10]}, {RV: 12, Object: all[12]}},
			Compactions: []model.Compaction{{RV: 4, Time: 3500 * ms}},
			Revision:    13,
		},
		Faults: []model.Fault{
			{Name: "watch-break", Begin: 2500 * ms, End: 2500 * ms, Note: "server=apiserver-0", Processes: []string{"apiserver-0"}},
			{Name: "partition", Begin: 4200 * ms, End: 4900 * ms, Note: "from=etcd-0 to=apiserver-0 for=700ms", Processes: []string{"etcd-0", "apiserver-0"}},
		},
		Operations: []model.Operation{
			write(1, model.Create, 1000, 1010, 2),
			write(2, model.Create, 1500, 1510, 3),
			write(3, model.Update, 2000, 2010, 5),
			read(4, model.List, 2200, model.Scope{}, model.RVUnset, 5, 5, 3),
			write(5, model.Update, 3000, 3010, 7),
			write(6, model.Create, 4000, 4010, 8),
			{ID: 7, Client: "writer-0", Server: "apiserver-0", Kind: model.Delete, Call: 5000 * ms, Return: 5010 * ms, Scope: y, ResultRV: 10, Remaining: -1},
			write(8, model.Update, 6000, 6010, 12),
			read(9, model.List, 6500, model.Scope{}, model.RVUnset, 12, 12),
			read(10, model.List, 6550, model.Scope{}, model.RVUnset, 12, 8),
			read(11, model.Get, 6600, x, model.RVUnset, 12, 12),
			read(12, model.List, 6700, model.Scope{}, 8, 12, 12, 8),
			read(13, model.List, 6800, model.Scope{}, 8, 8, 7, 3, 8),
			read(14, model.List, 6900, model.Scope{}, 0, 12, 12, 8),
		},
		Streams: []model.Stream{
			{ID: 21, Client: "reflector-0", Server: "apiserver-0", Call: 1200 * ms, Return: 1201 * ms, RV: model.RVUnset, Bookmarks: true, InitialEvents: true,
				Closed: 2500 * ms, Reason: model.ClosedByServer, Events: []model.Event{
					event(1202, model.Added, 2), {Time: 1203 * ms, Type: model.Bookmark, RV: 2, InitialEnd: true},
					event(1511, model.Added, 3), event(2011, model.Modified, 5)}},
			{ID: 22, Client: "watcher-0", Server: "apiserver-0", Call: 1300 * ms, Return: 1301 * ms, RV: 2, Scope: model.Scope{Namespace: "a"}, Selector: model.Selector{Labels: web},
				Closed: 2500 * ms, Reason: model.ClosedByServer, Events: []model.Event{event(2011, model.Modified, 5)}},
			{ID: 23, Client: "reflector-0", Server: "apiserver-0", Call: 2600 * ms, Return: 2601 * ms, RV: 5, Bookmarks: true, ResumesStream: 21, Closed: model.Pending,
				Events: []model.Event{event(3011, model.Modified, 7), event(4011, model.Added, 8), {Time: 4990 * ms, Type: model.Bookmark, RV: 8}, event(5011, model.Deleted, 10), event(6011, model.Modified, 12)}},
			{ID: 24, Client: "watcher-0", Server: "apiserver-0", Call: 2650 * ms, Return: 2651 * ms, RV: 5, Scope: model.Scope{Namespace: "a"}, Selector: model.Selector{Labels: web}, ResumesStream: 22, Closed: model.Pending,
				Events: []model.Event{leave(3012, 5, 7), event(6012, model.Added, 12)}},
			{ID: 25, Client: "watcher-1", Server: "apiserver-0", Call: 2700 * ms, Return: 2701 * ms, RV: 5, Bookmarks: true, Closed: model.Pending,
				Events: []model.Event{event(3013, model.Modified, 7), event(4013, model.Added, 8), event(5013, model.Deleted, 10), event(6013, model.Modified, 12)}},
		},
		Informers: []model.Informer{{Client: "reflector-0", Server: "apiserver-0", Objects: []model.Object{all[12], all[8]}, LastSyncRV: 12}},
		Healed:    8000 * ms, End: 30_000 * ms,
	}
	for i := range h.Streams {
		for j := range h.Streams[i].Events {
			h.Streams[i].Events[j].Stream = h.Streams[i].ID
		}
	}
	for _, id := range []int{21, 23} {
		for _, e := range stream(h, id).Events {
			if e.IsData() {
				h.Informers[0].Notifications = append(h.Informers[0].Notifications, model.Notification{Time: e.Time + ms, Type: e.Type, Object: *e.Object})
			}
		}
	}
	page, next := operation(h, 9), operation(h, 10)
	page.Limit, page.HasMore, page.Remaining = 1, true, 1
	next.Limit, next.Continues = 1, 9
	operation(h, 12).Match, operation(h, 13).Match = model.MatchNotOlderThan, model.MatchExact
	return h
}

func operation(h *model.History, id int) *model.Operation {
	return &h.Operations[slices.IndexFunc(h.Operations, func(op model.Operation) bool { return op.ID == id })]
}

func stream(h *model.History, id int) *model.Stream {
	return &h.Streams[slices.IndexFunc(h.Streams, func(s model.Stream) bool { return s.ID == id })]
}

// census counts what the story's server holds at a second.
func census(at int64, phase model.Phase, streams, etcd int) model.Census {
	return model.Census{Time: at * 1000 * ms, Phase: phase, Server: "apiserver-0", Revision: 13, Streams: streams, Watchers: model.Uncounted, EtcdWatches: etcd, Goroutines: 50}
}

// twist damages the story so that one guarantee is broken.
type twist struct {
	guarantee string
	inflict   func(*model.History)
}

func drop(s *model.Stream, i int) { s.Events = slices.Delete(s.Events, i, i+1) }

func put(s *model.Stream, i int, event model.Event) {
	event.Stream = s.ID
	s.Events = slices.Insert(s.Events, i, event)
}

// write adds an update of a/x by the writer at a time in milliseconds, which all streams receive at once.
func write(h *model.History, at int64) {
	x := object("x", web, "v14", 14)
	meant := x
	meant.RV, meant.UID = 0, ""
	h.Truth.Changes, h.Truth.Revision = append(h.Truth.Changes, model.Change{RV: 14, Object: x}), 14
	h.Operations = append(h.Operations, model.Operation{ID: 15, Client: "writer-0", Server: "apiserver-0", Kind: model.Update,
		Call: at * ms, Return: (at + 10) * ms, Object: &meant, ResultRV: 14, Remaining: -1})
	for _, id := range []int{23, 24, 25} {
		s := stream(h, id)
		s.Events = append(s.Events, model.Event{Stream: id, Time: (at + 12) * ms, Type: model.Modified, RV: 14, Object: &x})
	}
	told := &h.Informers[0]
	told.Objects[0], told.LastSyncRV = x, 14
	told.Notifications = append(told.Notifications, model.Notification{Time: (at + 13) * ms, Type: model.Modified, Object: x})
}

var twists = []twist{
	{"Linearizable", func(h *model.History) {
		op := operation(h, 11)
		op.ResultRV, op.Objects = 7, []model.Object{states()[7]}
	}},
	{"Revision", func(h *model.History) { h.Truth.Changes[3].RV, h.Truth.Changes[4].RV = 8, 7 }},
	{"Preconditions", func(h *model.History) {
		op := operation(h, 8)
		op.Err, op.Message, op.ResultRV, op.Precondition = model.Conflict, "the object has been modified", 0, 7
	}},
	{"Ordered", func(h *model.History) {
		s := stream(h, 25)
		s.Events[1], s.Events[2] = s.Events[2], s.Events[1]
		s.Events[1].Time, s.Events[2].Time = s.Events[2].Time, s.Events[2].Time+ms
	}},
	{"Unique", func(h *model.History) {
		s := stream(h, 25)
		put(s, 2, s.Events[1])
	}},
	{"Reliable", func(h *model.History) { drop(stream(h, 25), 1) }},
	{"Typed", func(h *model.History) { stream(h, 24).Events[1].Type = model.Modified }},
	{"Faithful", func(h *model.History) { stream(h, 25).Events[1].Object.Value = "v7" }},
	{"Scoped", func(h *model.History) { put(stream(h, 24), 1, stream(h, 25).Events[1]) }},
	{"Initial", func(h *model.History) { drop(stream(h, 21), 0) }},
	{"InitialEnd", func(h *model.History) {
		s := stream(h, 21)
		put(s, 2, s.Events[1])
	}},
	{"Bookmarked", func(h *model.History) {
		put(stream(h, 25), 1, model.Event{Time: 4013 * ms, Type: model.Bookmark, RV: 8})
	}},
	{"Expired", func(h *model.History) {
		h.Streams = append(h.Streams, model.Stream{ID: 26, Client: "watcher-2", Server: "apiserver-0", Call: 7000 * ms, Return: 7010 * ms, RV: 13,
			Err: model.Expired, Message: "too old resource version: 13 (5)", Closed: 7010 * ms})
	}},
	{"TooLarge", func(h *model.History) {
		h.Streams = append(h.Streams, model.Stream{ID: 26, Client: "watcher-2", Server: "apiserver-0", Call: 7000 * ms, Return: 10_000 * ms, RV: 12,
			Err: model.TooLarge, Message: "Too large resource version: 12, current: 10", Closed: 10_000 * ms})
	}},
	{"LastError", func(h *model.History) {
		s := stream(h, 22)
		s.Reason = model.ClosedByError
		for range 2 {
			s.Events = append(s.Events, model.Event{Stream: 22, Time: 2500 * ms, Type: model.Error, Err: model.Expired, Message: "the watch on etcd was lost"})
		}
	}},
	{"Exact-state", func(h *model.History) {
		op := operation(h, 4)
		op.Objects = op.Objects[:1]
	}},
	{"Most-recent", func(h *model.History) { operation(h, 13).RV, operation(h, 13).Match = model.RVUnset, model.MatchUnset }},
	{"Not-older-than", func(h *model.History) { operation(h, 12).RV = 13 }},
	{"Exact", func(h *model.History) { operation(h, 13).RV = 10 }},
	{"Any", func(h *model.History) { operation(h, 14).ResultRV = 99 }},
	{"Paged", func(h *model.History) { operation(h, 9).Remaining = 3 }},
	{"Delivered", func(h *model.History) { drop(stream(h, 25), 3) }},
	{"Closed", func(h *model.History) {
		s := stream(h, 25)
		drop(s, 3)
		s.Closed, s.Reason = 5500*ms, model.ClosedByServer
	}},
	{"Resumable", func(h *model.History) {
		s := stream(h, 23)
		s.RV, s.Events = 3, slices.Insert(s.Events, 0, stream(h, 21).Events[3])
		s.Events[0].Stream, s.Events[0].Time = 23, 2602*ms
	}},
	{"Monotonic", func(h *model.History) {
		op := operation(h, 14)
		op.Client, op.ResultRV, op.Objects = "watcher-1", 8, operation(h, 13).Objects
	}},
	{"Isolated", func(h *model.History) {
		stream(h, 23).Mutates = true
		stream(h, 25).Events[1].Object.Value = model.MutationMark(23)
	}},
	{"Refreshed", func(h *model.History) {
		h.End = 120_000 * ms
		h.Censuses = []model.Census{census(20, model.Serving, 3, 1), census(25, model.Serving, 3, 1)}
		h.Censuses[0].Revision = 12
	}},
	{"Unblocked", func(h *model.History) {
		write(h, 20_000)
		late := stream(h, 25)
		late.Consumer, late.Events[4].Time = "fast", 25_000*ms
		h.Streams = append(h.Streams, model.Stream{ID: 26, Client: "sleeper-0", Server: "apiserver-0", Call: 7000 * ms, Return: 7001 * ms, RV: 12,
			Consumer: "stalled", Closed: model.Pending})
	}},
	{"Shared", func(h *model.History) {
		h.Censuses = []model.Census{census(9, model.Serving, 3, 1), census(14, model.Serving, 3, 2), census(19, model.Serving, 3, 3)}
	}},
	{"Notified", func(h *model.History) {
		h.Informers[0].Notifications = slices.DeleteFunc(h.Informers[0].Notifications, func(n model.Notification) bool { return n.Type == model.Deleted })
	}},
	{"Released", func(h *model.History) {
		h.Censuses = []model.Census{census(25, model.Serving, 3, 1), census(31, model.Left, 1, 1)}
	}},
	{"Converged", func(h *model.History) {
		h.Informers[0].Objects, h.Informers[0].LastSyncRV = h.Informers[0].Objects[:1], 8
	}},
	{"InternalError", func(h *model.History) {
		op := operation(h, 14)
		op.Err, op.Answer, op.Message = model.Unknown, model.InternalError, "unable to encode next field: the key and key prefix do not match"
		op.ResultRV, op.Objects = 0, nil
	}},
	{"ErrorRV", func(h *model.History) {
		h.Operations = append(h.Operations, model.Operation{ID: 15, Client: "reader-0", Server: "apiserver-0", Kind: model.Get, Call: 7000 * ms, Return: 7005 * ms,
			Scope: model.Scope{Namespace: "a", Name: "y"}, Err: model.NotFound, ErrRV: 8, Remaining: -1})
	}},
	{"ReadStatus", func(h *model.History) {
		h.Operations = append(h.Operations, model.Operation{ID: 15, Client: "reader-0", Server: "apiserver-0", Kind: model.Get, Call: 7000 * ms, Return: 7005 * ms,
			Scope: model.Scope{Namespace: "a", Name: "y"}, Err: model.Conflict, Message: "the object has been modified", Remaining: -1})
	}},
	{"Answered", func(h *model.History) {
		h.Operations = append(h.Operations, model.Operation{ID: 15, Client: "reader-0", Server: "apiserver-0", Kind: model.List, Call: 20_000 * ms, Return: 23_005 * ms,
			RV: model.RVUnset, ResultRV: 12, Objects: operation(h, 14).Objects, Remaining: -1})
	}},
	{"Prompt", func(h *model.History) {
		write(h, 20_000)
		late := stream(h, 25)
		late.Consumer, late.Events[4].Time = "fast", 25_000*ms
	}},
}
