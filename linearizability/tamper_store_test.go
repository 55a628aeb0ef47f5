package linearizability_test

import (
	"fmt"
	"slices"

	"github.com/watchsim/watchsim/model"
)

const (
	takenAsGiven  = "what no recorded operation storedAs is taken as given, and nobody saw it"
	unseenInStore = "the record of etcd is the truth; nobody in the history saw the difference"
	unknownEffect = "the write may have taken effect or not"
)

func storedAs(op *model.Operation) bool {
	return op.Object != nil && op.Err == model.OK && op.ResultRV > 0
}

func refusedWrite(code model.Code) func(*model.History, *model.Operation) {
	return func(_ *model.History, op *model.Operation) { op.Err, op.ResultRV, op.Objects = code, 0, nil }
}

// tamperWritten is an edit of what a write was told to store.
func tamperWritten(edit string, change func(*model.Object)) tampering {
	return tamperOperation("write", edit, "", storedAs, func(_ *model.History, op *model.Operation) {
		object := *op.Object
		change(&object)
		op.Object, op.Scope.Name = &object, object.Name
	}, nil)
}

var writeTamperings = slices.Concat(tamperItems("write's answer", storedAs), []tampering{
	tamperWritten("another value", func(o *model.Object) { o.Value = "another" }),
	tamperWritten("another key", func(o *model.Object) { o.Name += "-another" }),
	tamperWritten("another node", func(o *model.Object) { o.Node += "-another" }),
	tamperWritten("another label", relabel),
	tamperOperation("write", "an RV too high", "", storedAs, func(_ *model.History, op *model.Operation) { op.ResultRV++ }, nil),
	tamperOperation("write", "an RV too low", "", storedAs, func(_ *model.History, op *model.Operation) { op.ResultRV-- }, nil),
	tamperOperation("write", "fail with Conflict", "", storedAs, refusedWrite(model.Conflict), nil),
	tamperOperation("write", "fail with AlreadyExists", "", storedAs, refusedWrite(model.AlreadyExists), nil),
	tamperOperation("write", "fail with NotFound", "", storedAs, refusedWrite(model.NotFound), nil),
	tamperOperation("write", "refused before it was tried", "", storedAs, refusedWrite(model.Unavailable), nil),
	tamperOperation("write", "refused as one of too many", "", storedAs, refusedWrite(model.TooMany), nil),
	tamperOperation("write", "refused as invalid", "", storedAs, refusedWrite(model.Invalid), nil),
	tamperOperation("write", "of unknown outcome", unknownEffect, storedAs, refusedWrite(model.Unknown), anOperation),
	tamperOperation("write", "acknowledged without an effect", "", func(op *model.Operation) bool { return op.Object != nil && op.Err == model.Unavailable },
		func(_ *model.History, op *model.Operation) { op.Err, op.ResultRV = model.OK, 5 }, nil),
	tamperOperation("write", "a precondition that failed", "", func(op *model.Operation) bool { return storedAs(op) && op.Kind == model.Update },
		func(_ *model.History, op *model.Operation) { op.Precondition = op.ResultRV }, nil),
	tamperOperation("write", "called after the run", "nobody was shown the write before it was called", storedAs,
		func(h *model.History, op *model.Operation) { op.Call, op.Return = h.Healed, h.Healed }, func(op *model.Operation, o *secondOpinion) bool {
			return op.ResultRV == o.h.Truth.Revision
		}),
	tamperOperation("write", "returned before others", "no two writes exclude each other in this order", storedAs,
		func(_ *model.History, op *model.Operation) { op.Call, op.Return = 0, 1 }, func(op *model.Operation, o *secondOpinion) bool {
			return o.newest(1) >= op.ResultRV
		}),
	tamperOperation("write", "no record of it", takenAsGiven, storedAs, func(h *model.History, op *model.Operation) {
		*op = model.Operation{ID: op.ID, Client: op.Client, Server: op.Server, Kind: model.Get, RV: 0, Scope: op.Scope, Call: op.Call, Return: model.Pending}
	}, anOperation),
})

// tamperInformer is an edit of each informer for which keep holds.
func tamperInformer(edit, silence string, keep func(*model.Informer) bool, apply func(*model.History, *model.Informer)) tampering {
	return tampering{"informer", edit, func(h *model.History) []tampered {
		var all []tampered
		for i := range h.Informers {
			if informer := &h.Informers[i]; keep(informer) {
				place := tampered{apply: func() { informer.Objects = slices.Clone(informer.Objects); apply(h, informer) }}
				if silence != "" {
					place.harmless = always
				}
				all = append(all, place)
			}
		}
		return all
	}, silence}
}

func full(informer *model.Informer) bool { return len(informer.Objects) > 0 }

var informerTamperings = []tampering{
	tamperInformer("drop an object", "", full, func(_ *model.History, i *model.Informer) { i.Objects = i.Objects[1:] }),
	tamperInformer("an object twice", "", full, func(_ *model.History, i *model.Informer) { i.Objects = append(i.Objects, i.Objects[0]) }),
	tamperInformer("another value", "", full, func(_ *model.History, i *model.Informer) { i.Objects[0].Value = "another" }),
	tamperInformer("another UID", "", full, func(_ *model.History, i *model.Informer) { i.Objects[0].UID = "another" }),
	tamperInformer("another label", "", full, func(_ *model.History, i *model.Informer) {
		i.Objects[0].Labels = map[string]string{"other": "label"}
	}),
	tamperInformer("an object's RV too high", "", full, func(_ *model.History, i *model.Informer) { i.Objects[0].RV++ }),
	tamperInformer("an object's RV too low", "", full, func(_ *model.History, i *model.Informer) { i.Objects[0].RV-- }),
	tamperInformer("lastSyncResourceVersion below an object", "", full, func(_ *model.History, i *model.Informer) { i.LastSyncRV = i.Objects[0].RV - 1 }),
	tamperInformer("lastSyncResourceVersion beyond etcd", "", full, func(h *model.History, i *model.Informer) { i.LastSyncRV = h.Truth.Revision + 1 }),
	tamperInformer("no lastSyncResourceVersion", "0 is unknown", full, func(_ *model.History, i *model.Informer) { i.LastSyncRV = 0 }),
}

// tamperServer is an edit of each count of what a server holds, of those that are judged.
func tamperServer(edit, silence string, keep func(*model.Census) bool, apply func(*model.Census)) tampering {
	return tampering{"server", edit, func(h *model.History) []tampered {
		var all []tampered
		for _, census := range censuses(h, keep) {
			place := tampered{apply: func() { apply(census) }}
			if silence != "" {
				place.harmless = always
			}
			all = append(all, place)
		}
		return all
	}, silence}
}

func phase(phases ...model.Phase) func(*model.Census) bool {
	return func(census *model.Census) bool { return slices.Contains(phases, census.Phase) }
}

var serverTamperings = []tampering{
	tamperServer("a stream too many once clients have left", "", phase(model.Left, model.Stopped), func(c *model.Census) { c.Streams++ }),
	tamperServer("a watcher too many once clients have left", "", phase(model.Left, model.Stopped), func(c *model.Census) { c.Watchers = 1 }),
	tamperServer("a watch on etcd after the stop", "", phase(model.Stopped), func(c *model.Census) { c.EtcdWatches = 1 }),
	tamperServer("a goroutine after the stop", "", phase(model.Stopped), func(c *model.Census) { c.Goroutines = 1 }),
	tamperServer("a second watch on etcd, once", "one count may see the old watch and the new one", phase(model.Serving), func(c *model.Census) { c.EtcdWatches = 2 }),
	tamperServer("more goroutines while it serves", "how many a server needs is its own affair", phase(model.Serving), func(c *model.Census) { c.Goroutines += 100 }),
}

// tamperRecord is an edit of each change that etcd committed.
func tamperRecord(edit, silence string, apply func(*model.History, int)) tampering {
	return tampering{"etcd record", edit, func(h *model.History) []tampered {
		all := make([]tampered, len(h.Truth.Changes))
		for i := range all {
			change := h.Truth.Changes[i]
			all[i] = tampered{func() { apply(h, i) }, func(*secondOpinion) bool { return silence != "" && (change.Deleted || !witnessed(h, &change)) }}
		}
		return all
	}, silence}
}

// witnessed reports whether a client was told the RV of a change by its own write,
// or received the event.
func witnessed(h *model.History, change *model.Change) bool {
	return slices.ContainsFunc(h.Operations, func(op model.Operation) bool { return storedAs(&op) && op.ResultRV == change.RV }) ||
		slices.ContainsFunc(h.Streams, func(s model.Stream) bool {
			return slices.ContainsFunc(s.Events, func(e model.Event) bool { return isChange(&e) && e.RV == change.RV && !s.InitialEvents && s.RV > 0 })
		})
}

var recordTamperings = []tampering{
	tamperRecord("drop a change", unseenInStore, func(h *model.History, i int) { h.Truth.Changes = slices.Delete(h.Truth.Changes, i, i+1) }),
	tamperRecord("a change twice", "", func(h *model.History, i int) { h.Truth.Changes = slices.Insert(h.Truth.Changes, i, h.Truth.Changes[i]) }),
	tamperRecord("another value", unseenInStore+", or it was a deletion, whose content is the last state", func(h *model.History, i int) { h.Truth.Changes[i].Object.Value = "another" }),
	tamperRecord("an RV too high", unseenInStore, func(h *model.History, i int) { h.Truth.Changes[i].RV++; h.Truth.Changes[i].Object.RV++ }),
	tamperRecord("another name", unseenInStore, func(h *model.History, i int) { h.Truth.Changes[i].Object.Name += "-another" }),
	tamperRecord("a deletion instead of a write", unseenInStore, func(h *model.History, i int) { h.Truth.Changes[i].Deleted = !h.Truth.Changes[i].Deleted }),
	tamperRecord("the log ends before it", "", func(h *model.History, i int) { h.Truth.Revision = h.Truth.Changes[i].RV - 1 }),
}

// tamperPairs is an edit of two records of one kind.
func tamperPairs(subject, edit, silence string, apply func(a, b *model.Operation), harmless func(*model.Operation, *secondOpinion) bool) tampering {
	return tampering{subject, edit, func(h *model.History) []tampered {
		var all []tampered
		lists := operations(h, func(op *model.Operation) bool { return isList(op) && op.Limit == 0 && op.Continues == 0 })
		for i := range len(lists) - 1 {
			a, b := lists[i], lists[i+1]
			all = append(all, tampered{func() { apply(a, b) }, func(o *secondOpinion) bool { return harmless(a, o) && harmless(b, o) }})
		}
		return all
	}, silence}
}

var exchangeTamperings = []tampering{
	tamperPairs("answers", "swap those of two lists", anotherState, func(a, b *model.Operation) {
		a.Objects, b.Objects = b.Objects, a.Objects
		a.ResultRV, b.ResultRV = b.ResultRV, a.ResultRV
	}, listAllowed),
	tamperPairs("answers", "swap the items of two lists, not their RVs", anotherState, func(a, b *model.Operation) { a.Objects, b.Objects = b.Objects, a.Objects }, listAllowed),
	tamperOperation("client", "another client's read", "the client had seen nothing newer of that server", isRead,
		func(_ *model.History, op *model.Operation) { op.Client = "i0" }, anOperation),
	tamperOperation("server", "another server's read", "the other server may have answered the same", isRead,
		func(_ *model.History, op *model.Operation) { op.Server = fmt.Sprint("s", 3-int(op.Server[1]-'0')) }, anOperation),
	tamperStream("another server's stream", "the other server may have sent the same", opened, func(s *model.Stream) { s.Server = fmt.Sprint("s", 3-int(s.Server[1]-'0')) }, whatever),
	tamperStream("another client's stream", "the client resumed nothing here", opened, func(s *model.Stream) { s.Client = "c9" }, whatever),
}
