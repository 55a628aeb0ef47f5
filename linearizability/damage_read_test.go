package linearizability_test

import (
	"slices"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

var readDamages = []damage{
	onOperation("list exactly another RV", func(op *model.Operation) bool {
		return op.Kind == model.List && op.Err == model.OK && op.Match == model.MatchExact
	}, func(op *model.Operation) { op.RV++ }, linearizability.Exact),
	onOperation("list less than asked", func(op *model.Operation) bool {
		return op.Kind == model.List && op.Err == model.OK && op.Match == model.MatchNotOlderThan
	}, func(op *model.Operation) { op.RV = op.ResultRV + 1 }, linearizability.NotOlderThan),
	onOperation("list an item that does not belong", func(op *model.Operation) bool { return op.Kind == model.List && op.Err == model.OK },
		func(op *model.Operation) {
			op.Objects = append(slices.Clone(op.Objects), model.Object{Namespace: "elsewhere", Name: "x", Value: "v", RV: 1})
		}, linearizability.ExactState, linearizability.Paged),
	{"list less than had been written before", func(c chooser, h *model.History) guarantees {
		written := operations(h, func(op *model.Operation) bool { return op.Object != nil && op.Err == model.OK && op.ResultRV > 1 })
		var places [][2]*model.Operation
		for _, list := range wholeLists(h, model.RVUnset) {
			for _, write := range written {
				if write.Return < list.Call {
					places = append(places, [2]*model.Operation{list, write})
				}
			}
		}
		p, ok := pick(c, places)
		if !ok {
			return nil
		}
		listAt(h, p[0], p[1].ResultRV-1)
		return guarantees{linearizability.MostRecent}
	}},
	{"list what is not there yet", func(c chooser, h *model.History) guarantees {
		op, ok := pick(c, wholeLists(h, 0))
		if !ok {
			return nil
		}
		op.ResultRV = h.Truth.Revision + 1
		return guarantees{linearizability.Any}
	}},
	{"go on with a list at another RV", func(c chooser, h *model.History) guarantees {
		expired := map[int]bool{}
		for _, op := range operations(h, func(op *model.Operation) bool { return op.Kind == model.List && op.Err == model.Expired }) {
			expired[op.ID] = true
		}
		op, ok := pick(c, operations(h, func(op *model.Operation) bool {
			return op.Kind == model.List && op.Err == model.OK && op.Continues != 0 && !expired[op.Continues]
		}))
		if !ok {
			return nil
		}
		op.ResultRV--
		return guarantees{linearizability.Paged}
	}},
	{"get what had been replaced", func(c chooser, h *model.History) guarantees {
		store := model.NewStore(&h.Truth)
		until := func(op *model.Operation) int64 {
			version, _ := store.VersionAt(op.Objects[0].Key(), op.ResultRV)
			return version.Until
		}
		op, ok := pick(c, operations(h, func(op *model.Operation) bool {
			return op.Kind == model.Get && op.RV != model.RVUnset && op.Err == model.OK && until(op) < model.Forever
		}))
		if !ok {
			return nil
		}
		op.RV = until(op)
		return guarantees{linearizability.NotOlderThan}
	}},
}

// wholeLists returns the lists at an RV that came in one page.
func wholeLists(h *model.History, rv int64) []*model.Operation {
	return operations(h, func(op *model.Operation) bool {
		return op.Kind == model.List && op.Err == model.OK && op.RV == rv && op.Match == model.MatchUnset && op.Continues == 0 && !op.HasMore
	})
}

// listAt makes a list return the state at an RV.
func listAt(h *model.History, op *model.Operation, rv int64) {
	op.ResultRV, op.Objects = rv, nil
	for _, object := range model.NewStore(&h.Truth).List(op.Scope, op.Selector, rv) {
		op.Objects = append(op.Objects, *object)
	}
}
