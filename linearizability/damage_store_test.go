package linearizability_test

import (
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

var storeDamages = []damage{
	onOperation("acknowledge a write that is not in etcd", func(op *model.Operation) bool { return op.Object != nil && op.Err == model.OK && op.ResultRV > 0 }, func(op *model.Operation) {
		object := *op.Object
		object.Value = "another"
		op.Object = &object
	}, linearizability.Linearizable),
	onOperation("refuse a write that is in etcd", func(op *model.Operation) bool { return op.Object != nil && op.Err == model.OK && op.ResultRV > 0 },
		func(op *model.Operation) { op.Err, op.ResultRV = model.Conflict, 0 }, linearizability.Preconditions),
	onOperation("read what is long gone", func(op *model.Operation) bool {
		return op.Kind == model.Get && op.RV == model.RVUnset && op.Err == model.OK
	}, func(op *model.Operation) {
		op.Err, op.Objects, op.ResultRV = model.OK, []model.Object{{Namespace: op.Scope.Namespace, Name: op.Scope.Name, Value: "another", RV: 1}}, 1
	}, linearizability.Linearizable),
	{"leave an object out of an informer", func(c chooser, h *model.History) guarantees {
		if len(h.Informers[0].Objects) == 0 {
			return nil
		}
		h.Informers[0].Objects = h.Informers[0].Objects[1:]
		return guarantees{linearizability.Converged}
	}},
	{"swap two revisions", func(c chooser, h *model.History) guarantees {
		if len(h.Truth.Changes) < 2 {
			return nil
		}
		i := c.below(len(h.Truth.Changes) - 1)
		h.Truth.Changes[i].RV, h.Truth.Changes[i+1].RV = h.Truth.Changes[i+1].RV, h.Truth.Changes[i].RV
		return guarantees{linearizability.Revision}
	}},
	{"leave a ghost in an informer", func(_ chooser, h *model.History) guarantees {
		h.Informers[0].Objects = append(h.Informers[0].Objects, model.Object{Namespace: "c", Name: "ghost", Value: "v", RV: 1})
		return guarantees{linearizability.Converged}
	}},
}
