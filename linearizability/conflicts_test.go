package linearizability_test

import (
	"testing"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

func TestConflicts(t *testing.T) {
	// a/y exists with the UID u4 from RV 4 on, and is deleted at RV 12. It is recreated at RV
	// 15, as u15, by a write that returns at 20 s.
	refused := model.Operation{ID: 7, Client: "c", Server: "s1", Kind: model.Update, Call: 10 * second, Return: 11 * second,
		Err: model.Conflict, ErrRV: model.RVUnset, Object: &model.Object{Namespace: "a", Name: "y", Value: "mine"}}
	withUID := func(uid string, called, returned int64) model.Operation {
		op, object := refused, *refused.Object
		object.UID = uid
		op.Object, op.Call, op.Return = &object, called*second, returned*second
		return op
	}
	broken := guarantees{linearizability.Preconditions}
	judgeEach(t, []historyRow[model.Operation]{
		{"the UID of another object", withUID("u2", 10, 11), nil},
		{"the UID of the object before", withUID("u4", 22, 23), nil},
		{"the UID of the next object", withUID("u15", 10, 11), nil},
		{"a UID that changes meanwhile", withUID("u4", 19, 21), nil},
		{"a request with unknown preconditions", changed(refused, func(op *model.Operation) { op.ErrRV = 0 }), nil},
		{"not a write", changed(refused, func(op *model.Operation) {
			op.Kind, op.Object, op.Scope = model.Get, nil, model.Scope{Namespace: "a", Name: "y"}
		}), guarantees{linearizability.ReadStatus}},

		{"no precondition", refused, broken},
		{"a deletion without a precondition", changed(refused, func(op *model.Operation) {
			op.Kind, op.Object, op.Scope = model.Delete, nil, model.Scope{Namespace: "a", Name: "y"}
		}), broken},
		{"a creation", changed(refused, func(op *model.Operation) { op.Kind = model.Create }), broken},
		{"the stored UID, before another object", withUID("u4", 10, 11), broken},
		{"the stored UID", withUID("u15", 22, 23), broken},
	}, func(op model.Operation) *model.History {
		h := quietHistory(model.Stream{RV: 15}, 40)
		again := model.Object{Namespace: "a", Name: "y", Labels: db, Value: "v15", UID: "u15"}
		h.Truth.Changes[6].Object = again
		meant := again
		meant.UID = ""
		created := wrote(20 * second)
		created.Kind, created.Scope, created.Object = model.Create, model.Scope{Namespace: "a", Name: "y"}, &meant
		h.Operations = []model.Operation{created, op}
		return h
	})
}
