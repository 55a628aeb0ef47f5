package linearizability_test

import (
	"testing"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

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
		{"a delete of what is not there", fail(model.Delete, model.NotFound), nil},
		{"a get in conflict", fail(model.Get, model.Conflict), broken},
		{"a list of what is there already", fail(model.List, model.AlreadyExists), broken},
		{"a stream in conflict", refuse(model.Conflict), broken},
		{"a stream that fails because something is there already", send(model.AlreadyExists), broken},
		{"a delete in conflict without a precondition", fail(model.Delete, model.Conflict), nil},
	})
}
