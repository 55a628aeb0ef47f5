package linearizability_test

import (
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

var storeDamages = []damage{
	onOperation("read what is long gone", func(op *model.Operation) bool {
		return op.Kind == model.Get && op.RV == model.RVUnset && op.Err == model.OK
	}, func(op *model.Operation) {
		op.Err, op.Objects, op.ResultRV = model.OK, []model.Object{{Namespace: op.Scope.Namespace, Name: op.Scope.Name, Value: "another", RV: 1}}, 1
	}, linearizability.Linearizable),
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
