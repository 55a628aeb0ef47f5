package linearizability_test

import (
	"testing"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// failing is the fault that keeps a server from decoding stored data.
func failing(begin, end int64, processes ...string) model.Fault {
	return model.Fault{Name: "decode-failure", Begin: begin * second, End: end * second, Processes: processes}
}

func TestInternalErrors(t *testing.T) {
	broken := guarantees{linearizability.InternalError}
	read := func(h *model.History) {
		h.Operations = []model.Operation{{ID: 1, Client: "r", Server: "s1", Kind: model.List, Call: 20 * second, Return: 21 * second, Remaining: -1,
			Err: model.Unknown, Answer: model.InternalError, Message: "unable to encode next field: the key and key prefix do not match"}}
	}
	refused := func(h *model.History) {
		h.Streams = append(h.Streams, model.Stream{ID: 9, Client: "c9", Server: "s1", RV: 12, Call: 20 * second, Return: 21 * second, Closed: 21 * second,
			Err: model.Unknown, Answer: model.InternalError, Message: "no decoder"})
	}
	event := func(h *model.History) {
		s := &h.Streams[0]
		s.Events = append(s.Events, model.Event{Stream: s.ID, Time: 20 * second, Type: model.Error, Err: model.Unknown, Answer: model.InternalError, Message: "no decoder"})
		s.Closed, s.Reason = 21*second, model.ClosedByError
	}
	history := func(happen func(*model.History), faults ...model.Fault) *model.History {
		h := quietHistory(model.Stream{RV: 15, Consumer: "fast"}, 40)
		h.Faults, h.Healed, h.Steady = faults, 30*second, true
		happen(h)
		return h
	}
	judgeAll(t, []historyRow[*model.History]{
		{"nothing", history(func(*model.History) {}), nil},
		{"no response", history(func(h *model.History) { read(h); h.Operations[0].Answer = "" }), nil},
		{"etcd's own error", history(func(h *model.History) { read(h); h.Operations[0].Answer = model.StoreError }), guarantees{linearizability.Answered}},
		{"a read while the server cannot decode", history(read, failing(19, 22, "s1")), nil},
		{"a read called before the fault ended", history(read, failing(15, 20, "s1")), nil},
		{"a read that returned after the fault began", history(read, failing(21, 22, "s1")), nil},
		{"a fault that may have acted on any server", history(read, failing(19, 22)), nil},
		{"a refused watch while the server cannot decode", history(refused, failing(19, 22, "s1")), nil},
		{"an event of a stream that began earlier", history(event, failing(10, 12, "s1")), nil},

		{"a read", history(read), broken},
		{"a read behind a partition", history(read, fault("partition", 19*second, 22*second, "s1", "etcd-0")), broken},
		{"a read of another server", history(read, failing(19, 22, "s2")), broken},
		{"a read after the fault", history(read, failing(15, 19, "s1")), broken},
		{"a read before the fault", history(read, failing(22, 25, "s1")), broken},
		{"a refused watch", history(refused), broken},
		{"an event", history(event), broken},
		{"an event before the fault", history(event, failing(21, 22, "s1")), broken},
	})
}

func TestErrorsNameARevision(t *testing.T) {
	// a/y exists from RV 4 on, until it is deleted at RV 12; etcd ends at 20.
	broken := guarantees{linearizability.ErrorRV}
	history := func(asked, named int64, changes ...func(*model.History)) *model.History {
		h := quietHistory(model.Stream{RV: 15}, 40)
		h.Operations = []model.Operation{{ID: 7, Client: "r", Server: "s1", Kind: model.Get, Scope: model.Scope{Namespace: "a", Name: "y"},
			Call: 10 * second, Return: 11 * second, RV: asked, Err: model.NotFound, ErrRV: named}}
		h.Windows = []model.CacheWindow{{Time: second, Server: "s1", Filling: 1, Since: 1, Newest: 1}, {Time: 9 * second, Server: "s1", Filling: 1, Since: 1, Newest: 14}}
		for _, change := range changes {
			change(h)
		}
		return h
	}
	judgeAll(t, []historyRow[*model.History]{
		{"no error recorded", history(0, 0), nil},
		{"at an RV at which it was deleted", history(0, 12), nil},
		{"before it was created", history(0, 3), nil},
		{"exactly the requested RV", history(13, 13), nil},
		{"no RV from etcd's store", history(model.RVUnset, model.RVUnset), nil},
		{"etcd's store responds while the cache initialises", history(0, model.RVUnset, func(h *model.History) { h.Windows[0].Filling, h.Windows[1].Filling = 0, 0 }),
			nil},
		{"etcd's store responds just after the cache initialised", history(0, model.RVUnset, func(h *model.History) { h.Windows[0].Time, h.Windows[1].Time = 6*second, 7*second }),
			nil},
		{"etcd's store responds just before the cache initialises", history(0, model.RVUnset, func(h *model.History) {
			h.Windows = append(h.Windows, model.CacheWindow{Time: 15 * second, Server: "s1"})
		}), nil},

		{"no RV", history(0, model.RVUnset), broken},
		{"no RV while another cache initialises", history(0, model.RVUnset, func(h *model.History) {
			h.Windows = append(h.Windows, model.CacheWindow{Time: 10 * second, Server: "s2"}, model.CacheWindow{Time: 17 * second, Server: "s1"})
		}), broken},
		{"at an RV at which it existed", history(0, 4), broken},
		{"at the last RV at which it existed", history(0, 11), broken},
		{"older than requested", history(13, 12), broken},
		{"older than a write that had returned", history(model.RVUnset, 14, func(h *model.History) { h.Operations = append(h.Operations, wrote(9*second)) }), broken},
		{"ahead of etcd", history(0, 21), broken},
	})
}

func TestStatusesOfReads(t *testing.T) {
	broken := guarantees{linearizability.ReadStatus}
	fail := func(kind model.Kind, code model.Code) func(*model.History) {
		return func(h *model.History) {
			h.Operations = []model.Operation{{ID: 1, Client: "c2", Server: "s1", Kind: kind, Scope: model.Scope{Namespace: "a", Name: "w"},
				Call: 10, Return: 20, Remaining: -1, Err: code}}
		}
	}
	refuse := func(code model.Code) func(*model.History) {
		return func(h *model.History) { refuse(&h.Streams[0], code) }
	}
	send := func(code model.Code) func(*model.History) {
		return func(h *model.History) {
			h.Streams[0].Events = append(h.Streams[0].Events, failure(code))
			h.Streams[0].Reason = model.ClosedByError
		}
	}
	judgeChanges(t, func() *model.History { return closedStream(model.Stream{RV: 15}) }, []historyRow[func(*model.History)]{
		{"a get that finds nothing", fail(model.Get, model.NotFound), nil},
		{"a list of a resource that is not served", fail(model.List, model.NotFound), nil},
		{"a list that is invalid", fail(model.List, model.Invalid), nil},
		{"a stream that is invalid", refuse(model.Invalid), nil},
		{"a delete of a missing object", fail(model.Delete, model.NotFound), nil},
		{"a get with Conflict", fail(model.Get, model.Conflict), broken},
		{"a list with AlreadyExists", fail(model.List, model.AlreadyExists), broken},
		{"a stream with Conflict", refuse(model.Conflict), broken},
		{"a stream with AlreadyExists", send(model.AlreadyExists), broken},
		{"a delete with Conflict but no precondition", fail(model.Delete, model.Conflict), nil},
	})
}
