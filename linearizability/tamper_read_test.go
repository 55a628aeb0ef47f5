package linearizability_test

import (
	"maps"
	"slices"

	"github.com/watchsim/watchsim/model"
)

const (
	anotherState = "a correct server can have answered exactly this: the state was real, and as new as was asked for"
	failedRead   = "servers may fail near faults, and such an answer shows nothing of the store"
)

// tamperOperation is an edit of each operation for which keep holds.
func tamperOperation(subject, edit, silence string, keep func(*model.Operation) bool, apply func(*model.History, *model.Operation),
	harmless func(*model.Operation, *secondOpinion) bool) tampering {
	return tampering{subject, edit, func(h *model.History) []tampered {
		var all []tampered
		for _, op := range operations(h, keep) {
			all = append(all, tampered{func() { apply(h, op) }, func(o *secondOpinion) bool { return harmless != nil && harmless(op, o) }})
		}
		return all
	}, silence}
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
func tamperItems(subject string, keep func(*model.Operation) bool) []tampering {
	return []tampering{
		tamperItem(subject, "another value", keep, func(o *model.Object) { o.Value = "another" }),
		tamperItem(subject, "another UID", keep, func(o *model.Object) { o.UID = "another" }),
		tamperItem(subject, "another node", keep, func(o *model.Object) { o.Node += "-another" }),
		tamperItem(subject, "another label", keep, relabel),
		tamperItem(subject, "another name", keep, func(o *model.Object) { o.Name += "-another" }),
		tamperItem(subject, "an item's RV too high", keep, func(o *model.Object) { o.RV++ }),
		tamperItem(subject, "an item's RV too low", keep, func(o *model.Object) { o.RV-- }),
	}
}

// failRead makes a read one that failed.
func failRead(subject string, keep func(*model.Operation) bool, code model.Code, silence string, harmless func(*model.Operation, *secondOpinion) bool) tampering {
	return tamperOperation(subject, "fail with "+string(code), silence, keep, func(_ *model.History, op *model.Operation) {
		op.Err, op.ResultRV, op.Objects, op.HasMore, op.Remaining = code, 0, nil, false, -1
	}, harmless)
}

func anOperation(*model.Operation, *secondOpinion) bool { return true }

var listTamperings = slices.Concat(tamperItems("list", isList), []tampering{
	tamperOperation("list", "drop an item", "", func(op *model.Operation) bool { return isList(op) && len(op.Objects) > 0 },
		func(_ *model.History, op *model.Operation) { op.Objects = slices.Clone(op.Objects[1:]) }, nil),
	tamperOperation("list", "an item twice", "", func(op *model.Operation) bool { return isList(op) && len(op.Objects) > 0 },
		func(_ *model.History, op *model.Operation) {
			op.Objects = append(slices.Clone(op.Objects), op.Objects[0])
		}, nil),
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
		func(_ *model.History, op *model.Operation) { op.HasMore = false }, nil),
	tamperOperation("list", "a remaining count too high", "", func(op *model.Operation) bool { return isList(op) && op.Remaining > 0 },
		func(_ *model.History, op *model.Operation) { op.Remaining++ }, nil),
	tamperOperation("list", "a limit below what came", "", func(op *model.Operation) bool { return isList(op) && op.HasMore && len(op.Objects) > 1 },
		func(_ *model.History, op *model.Operation) { op.Limit = int64(len(op.Objects)) - 1 }, nil),
	failRead("list", isList, model.NotFound, "a server that does not serve the resource yet answers so", anOperation),
	failRead("list", isList, model.Conflict, "", nil),
	failRead("list", isList, model.AlreadyExists, "", nil),
	failRead("list", isList, model.Expired, "the RV had been compacted when the answer came, or the cache may have dropped it",
		func(op *model.Operation, o *secondOpinion) bool {
			return op.Continues != 0 || op.RV > 0 && op.RV < o.h.Truth.CompactedBy(op.Return)
		}),
	failRead("list", isList, model.TooLarge, "the server may not have reached the RV yet",
		func(op *model.Operation, _ *secondOpinion) bool { return op.RV != 0 }),
	failRead("list", isList, model.Unknown, failedRead, anOperation),
})

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

var getTamperings = slices.Concat(tamperItems("get", isGet), []tampering{
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
	failRead("get", isGet, model.Unknown, failedRead, anOperation),
})
