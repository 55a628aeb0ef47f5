package linearizability_test

import (
	"maps"
	"slices"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

const (
	anotherState = "a correct server can have answered exactly this: the state was real, and as new as was asked for"
	failedRead   = "servers may fail near faults, and such an answer shows nothing of the store"
)

// tamperOperation is an edit of each operation for which keep holds.
func tamperOperation(subject, edit, silence string, keep func(*model.Operation) bool, apply func(*model.History, *model.Operation),
	harmless func(*model.Operation, *secondOpinion) bool) tampering {
	return at(subject, edit, silence, operations(keep), apply, harmless)
}

// breakOperation is an edit of an operation that breaks one of some guarantees for certain.
func breakOperation(subject, edit string, keep func(*model.Operation) bool, apply func(*model.Operation),
	want ...*linearizability.Guarantee) tampering {
	return breaks(subject, edit, operations(keep), func(_ *model.History, op *model.Operation) { apply(op) }, want...)
}

// operations finds the operations for which keep holds.
func operations(keep func(*model.Operation) bool) func(*model.History) []*model.Operation {
	return func(h *model.History) []*model.Operation { return where(h.Operations, keep) }
}

func isList(op *model.Operation) bool { return op.Kind == model.List && op.Err == model.OK }

func isGet(op *model.Operation) bool { return op.Kind == model.Get && op.Err == model.OK }

func isRead(op *model.Operation) bool { return isList(op) || isGet(op) }

// listAllowed is harmless where the second opinion has nothing against the list.
// Of pages it has none.
func listAllowed(op *model.Operation, o *secondOpinion) bool {
	return op.Limit != 0 || op.Continues != 0 || o.allowsList(op)
}

// tamperItem is an edit of an item of each list, or of what each get returned.
func tamperItem(subject, edit string, keep func(*model.Operation) bool, change func(*model.Object)) tampering {
	return tamperOperation(subject, edit, "", func(op *model.Operation) bool { return keep(op) && len(op.Objects) > 0 },
		func(_ *model.History, op *model.Operation) {
			op.Objects = slices.Clone(op.Objects)
			change(&op.Objects[len(op.Objects)/2])
		}, nil)
}

// relabel adds a label to an object that shares its labels with others.
func relabel(o *model.Object) {
	o.Labels = maps.Clone(o.Labels)
	if o.Labels == nil {
		o.Labels = map[string]string{}
	}
	o.Labels["other"] = "label"
}

// tamperItems are the edits of an object that was read.
func tamperItems(subject string, keep func(*model.Operation) bool, want ...*linearizability.Guarantee) []tampering {
	return []tampering{
		tamperItem(subject, "another value", keep, func(o *model.Object) { o.Value = "another" }).as(want...),
		tamperItem(subject, "another UID", keep, func(o *model.Object) { o.UID = "another" }).as(want...),
		tamperItem(subject, "another node", keep, func(o *model.Object) { o.Node += "-another" }).as(want...),
		tamperItem(subject, "another label", keep, relabel).as(want...),
		tamperItem(subject, "another name", keep, func(o *model.Object) { o.Name += "-another" }).as(want...),
		tamperItem(subject, "an item's RV too high", keep, func(o *model.Object) { o.RV++ }).as(want...),
		tamperItem(subject, "an item's RV too low", keep, func(o *model.Object) { o.RV-- }).as(want...),
	}
}

// failRead makes a read one that failed.
func failRead(subject string, keep func(*model.Operation) bool, code model.Code, silence string, harmless func(*model.Operation, *secondOpinion) bool) tampering {
	return tamperOperation(subject, "fail with "+string(code), silence, keep, func(_ *model.History, op *model.Operation) {
		op.Err, op.ResultRV, op.Objects, op.HasMore, op.Remaining = code, 0, nil, false, -1
	}, harmless)
}

var listTamperings = slices.Concat(tamperItems("list", isList, linearizability.ExactState, linearizability.Paged), []tampering{
	tamperOperation("list", "drop an item", "", func(op *model.Operation) bool { return isList(op) && len(op.Objects) > 0 },
		func(_ *model.History, op *model.Operation) { op.Objects = slices.Clone(op.Objects[1:]) }, nil).
		as(linearizability.ExactState, linearizability.Paged),
	tamperOperation("list", "an item twice", "", func(op *model.Operation) bool { return isList(op) && len(op.Objects) > 0 },
		func(_ *model.History, op *model.Operation) {
			op.Objects = append(slices.Clone(op.Objects), op.Objects[0])
		}, nil).as(linearizability.ExactState, linearizability.Paged),
	tamperOperation("list", "an RV too high", anotherState, isList, func(_ *model.History, op *model.Operation) { op.ResultRV++ }, listAllowed),
	tamperOperation("list", "an RV too low", anotherState, isList, func(_ *model.History, op *model.Operation) { op.ResultRV-- }, listAllowed),
	tamperOperation("list", "the state of the past", anotherState, isList, func(h *model.History, op *model.Operation) { listAt(h, op, max(1, op.ResultRV-5)) }, listAllowed),
	tamperOperation("list", "the state of the future", anotherState, isList,
		func(h *model.History, op *model.Operation) { listAt(h, op, h.Truth.Revision) }, listAllowed),
	tamperOperation("list", "answered before it was true", anotherState, isList, func(_ *model.History, op *model.Operation) { op.Return = op.Call }, listAllowed),
	tamperOperation("list", "ask for a newer state", anotherQuery, isList, func(_ *model.History, op *model.Operation) { op.RV = op.ResultRV + 1 }, listAllowed),
	tamperOperation("list", "ask for the newest state", anotherQuery, isList,
		func(_ *model.History, op *model.Operation) { op.RV, op.Match = model.RVUnset, model.MatchUnset }, listAllowed),
	tamperOperation("list", "ask for another namespace", anotherQuery, isList, func(_ *model.History, op *model.Operation) { op.Scope = model.Scope{Namespace: "a-b"} }, listAllowed),
	tamperOperation("list", "a continue token too few", "", func(op *model.Operation) bool { return isList(op) && op.HasMore },
		func(_ *model.History, op *model.Operation) { op.HasMore = false }, nil).as(linearizability.ExactState, linearizability.Paged),
	tamperOperation("list", "a remaining count too high", "", func(op *model.Operation) bool { return isList(op) && op.Remaining > 0 },
		func(_ *model.History, op *model.Operation) { op.Remaining++ }, nil).as(linearizability.Paged),
	tamperOperation("list", "a limit below what came", "", func(op *model.Operation) bool { return isList(op) && op.HasMore && len(op.Objects) > 1 },
		func(_ *model.History, op *model.Operation) { op.Limit = int64(len(op.Objects)) - 1 }, nil),
	failRead("list", isList, model.NotFound, "a server that does not serve the resource yet answers so", always),
	failRead("list", isList, model.Conflict, "", nil),
	failRead("list", isList, model.AlreadyExists, "", nil),
	failRead("list", isList, model.Expired, "the RV had been compacted when the answer came, or the cache may have dropped it",
		func(op *model.Operation, o *secondOpinion) bool {
			return op.Continues != 0 || op.RV > 0 && op.RV < o.h.Truth.CompactedBy(op.Return)
		}),
	failRead("list", isList, model.TooLarge, "the server may not have reached the RV yet",
		func(op *model.Operation, _ *secondOpinion) bool { return op.RV != 0 }),
	failRead("list", isList, model.Unknown, failedRead, always),
	breakOperation("list", "ask exactly for another RV", func(op *model.Operation) bool { return isList(op) && op.Match == model.MatchExact },
		func(op *model.Operation) { op.RV++ }, linearizability.Exact),
	breakOperation("list", "ask for more than it returned", func(op *model.Operation) bool { return isList(op) && op.Match == model.MatchNotOlderThan },
		func(op *model.Operation) { op.RV = op.ResultRV + 1 }, linearizability.NotOlderThan),
	breakOperation("list", "an item that does not belong", isList, func(op *model.Operation) {
		op.Objects = append(slices.Clone(op.Objects), model.Object{Namespace: "elsewhere", Name: "x", Value: "v", RV: 1})
	}, linearizability.ExactState, linearizability.Paged),
	breaks("list", "the state before a write that had returned", func(h *model.History) []look {
		return looks(h, model.RVUnset, storedAs, func(list, write *model.Operation) bool {
			return write.Return < list.Call && write.ResultRV > 1
		})
	}, showLook, linearizability.MostRecent),
	breaks("list", "the state before an earlier list of the client", func(h *model.History) []look {
		return looks(h, model.RVUnset, isList, func(list, before *model.Operation) bool {
			return before.Client == list.Client && before.Return < list.Call && before.ResultRV > 1
		})
	}, showLook, linearizability.MostRecent),
	breaks("list", "the state before an event that the client had seen", eventsBefore, showLook, linearizability.Monotonic),
	breaks("list", "an RV beyond etcd", func(h *model.History) []*model.Operation { return wholeLists(h, 0) },
		func(h *model.History, op *model.Operation) { op.ResultRV = h.Truth.Revision + 1 }, linearizability.Any),
	breaks("list", "go on at another RV", func(h *model.History) []*model.Operation {
		expired := map[int]bool{}
		for _, op := range where(h.Operations, func(op *model.Operation) bool { return op.Kind == model.List && op.Err == model.Expired }) {
			expired[op.ID] = true
		}
		return where(h.Operations, func(op *model.Operation) bool { return isList(op) && op.Continues != 0 && !expired[op.Continues] })
	}, func(_ *model.History, op *model.Operation) { op.ResultRV-- }, linearizability.Paged),
	breaks("list", "fail with Expired, though the RV was held", func(h *model.History) []*model.Operation {
		return where(h.Operations, func(op *model.Operation) bool {
			return isList(op) && op.Match == model.MatchExact && op.RV >= h.Truth.CompactedBy(op.Return)
		})
	}, func(_ *model.History, op *model.Operation) {
		op.Err, op.ResultRV, op.Objects, op.HasMore = model.Expired, 0, nil, false
	}, linearizability.Expired),
})

// wholeLists returns the lists at an RV that came in one page.
func wholeLists(h *model.History, rv int64) []*model.Operation {
	return where(h.Operations, func(op *model.Operation) bool {
		return isList(op) && op.RV == rv && op.Match == model.MatchUnset && op.Continues == 0 && !op.HasMore
	})
}

// listAt makes a list return the state at an RV.
func listAt(h *model.History, op *model.Operation, rv int64) {
	op.ResultRV, op.Objects = rv, nil
	for _, object := range model.NewStore(&h.Truth).List(op.Scope, op.Selector, rv) {
		op.Objects = append(op.Objects, *object)
	}
}

// look is a list, and an RV that is too old for it.
type look struct {
	list *model.Operation
	rv   int64
}

func showLook(h *model.History, l look) { listAt(h, l.list, l.rv) }

// looks pairs the lists at an RV with what was known before them.
func looks(h *model.History, rv int64, keep func(*model.Operation) bool, before func(list, known *model.Operation) bool) (all []look) {
	for _, list := range wholeLists(h, rv) {
		for _, known := range where(h.Operations, keep) {
			if before(list, known) {
				all = append(all, look{list, known.ResultRV - 1})
			}
		}
	}
	return all
}

// eventsBefore pairs the lists of any state with what their client had received from their server.
func eventsBefore(h *model.History) (all []look) {
	for _, list := range wholeLists(h, 0) {
		for _, p := range allEvents(h, func(p place) bool {
			s := p.stream
			return afterBlock(s) && s.Client == list.Client && s.Server == list.Server && p.event().IsData() && p.event().Time < list.Call
		}) {
			all = append(all, look{list, p.event().RV - 1})
		}
	}
	return all
}

// stored returns the state of one object at a revision.
func stored(h *model.History, op *model.Operation, rv int64) *model.Object {
	return model.NewStore(&h.Truth).Object(model.Key(op.Scope), rv)
}

// show makes a get return an object, or nothing.
func show(op *model.Operation, object *model.Object) {
	op.Err, op.ResultRV, op.Objects = model.NotFound, 0, nil
	if object != nil {
		op.Err, op.ResultRV, op.Objects = model.OK, object.RV, []model.Object{*object}
	}
}

// getAllowed is harmless where the object was as it says at some revision that the
// get may show.
func getAllowed(op *model.Operation, o *secondOpinion) bool {
	oldest := op.RV
	if op.RV == model.RVUnset {
		oldest = o.told(o.alone(op), op.Call)
	}
	for rv := max(oldest, 0); rv <= o.newest(op.Return); rv++ {
		object, there := o.content[rv][op.Scope.Namespace+"/"+op.Scope.Name]
		if !there && op.Err == model.NotFound || there && len(op.Objects) == 1 && text("", object) == text("", op.Objects[0]) {
			return true
		}
	}
	return false
}

// wrongGet are what a get breaks that returns what it should not, by the RV that it named.
var wrongGet = guarantees{linearizability.Linearizable, linearizability.NotOlderThan, linearizability.Any}

var getTamperings = slices.Concat(tamperItems("get", isGet, wrongGet...), []tampering{
	tamperOperation("get", "the state of the past", anotherState, isGet, func(h *model.History, op *model.Operation) { show(op, stored(h, op, op.ResultRV-1)) }, getAllowed),
	tamperOperation("get", "the last state of the run", anotherState, isGet, func(h *model.History, op *model.Operation) { show(op, stored(h, op, h.Truth.Revision)) }, getAllowed),
	tamperOperation("get", "found nothing", anotherState, isGet, func(_ *model.History, op *model.Operation) { show(op, nil) }, getAllowed),
	tamperOperation("get", "answered before it was true", anotherState, isGet, func(_ *model.History, op *model.Operation) { op.Return = op.Call }, getAllowed),
	tamperOperation("get", "called much later", anotherState, isGet, func(h *model.History, op *model.Operation) { op.Call, op.Return = h.Healed, h.Healed }, getAllowed),
	tamperOperation("get", "ask for a newer state", anotherQuery, isGet, func(_ *model.History, op *model.Operation) { op.RV = op.ResultRV + 1 }, getAllowed),
	tamperOperation("get", "ask for the newest state", anotherQuery, isGet, func(_ *model.History, op *model.Operation) { op.RV = model.RVUnset }, getAllowed),
	tamperOperation("get", "an answer from another key", "", isGet, func(_ *model.History, op *model.Operation) {
		op.Scope.Name = map[string]string{"x": "y", "y": "z", "z": "x"}[op.Scope.Name]
	}, nil),
	failRead("get", isGet, model.Conflict, "", nil),
	failRead("get", isGet, model.AlreadyExists, "", nil),
	failRead("get", isGet, model.Expired, "a read in several steps may lose a race with a compaction", func(op *model.Operation, o *secondOpinion) bool {
		return o.told(o.alone(op), op.Call) < o.h.Truth.CompactedBy(op.Return)
	}),
	failRead("get", isGet, model.TooLarge, "the server may not have reached the RV yet", func(op *model.Operation, _ *secondOpinion) bool { return op.RV != 0 }),
	failRead("get", isGet, model.Unknown, failedRead, always),
	breaks("get", "ask for more than it returned", func(h *model.History) []*model.Operation {
		return where(h.Operations, func(op *model.Operation) bool {
			return isGet(op) && op.RV != model.RVUnset && replaced(h, op) < model.Forever
		})
	}, func(h *model.History, op *model.Operation) { op.RV = replaced(h, op) }, linearizability.NotOlderThan),
	breakOperation("get", "a value that was never written", func(op *model.Operation) bool { return isGet(op) && op.RV == model.RVUnset },
		func(op *model.Operation) {
			op.Objects, op.ResultRV = []model.Object{{Namespace: op.Scope.Namespace, Name: op.Scope.Name, Value: "another", RV: 1}}, 1
		}, linearizability.Linearizable),
	breakOperation("get", "fail with TooLarge, though it asked for any state",
		func(op *model.Operation) bool { return op.Kind == model.Get && op.RV == 0 },
		func(op *model.Operation) { op.Err, op.ResultRV, op.Objects = model.TooLarge, 0, nil }, linearizability.TooLarge),
	breaks("get", "ask for an RV beyond etcd", operations(func(op *model.Operation) bool {
		return op.Kind == model.Get && op.RV != model.RVUnset && (op.Err == model.OK || op.Err == model.NotFound)
	}), func(h *model.History, op *model.Operation) { op.RV = h.Truth.Revision + 3 }, linearizability.TooLarge),
})

// replaced returns the RV at which the object that a get returned was replaced.
func replaced(h *model.History, op *model.Operation) int64 {
	version, _ := model.NewStore(&h.Truth).VersionAt(op.Objects[0].Key(), op.ResultRV)
	return version.Until
}
