package linearizability_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

const (
	takenAsGiven  = "what no recorded operation stored is taken as given, and nobody saw it"
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

var writeTamperings = slices.Concat(tamperItems("write's answer", storedAs, linearizability.Linearizable), []tampering{
	tamperWritten("another value", func(o *model.Object) { o.Value = "another" }).as(linearizability.Linearizable),
	tamperWritten("another key", func(o *model.Object) { o.Name += "-another" }),
	tamperWritten("another node", func(o *model.Object) { o.Node += "-another" }),
	tamperWritten("another label", relabel),
	tamperOperation("write", "an RV too high", "", storedAs, func(_ *model.History, op *model.Operation) { op.ResultRV++ }, nil),
	tamperOperation("write", "an RV too low", "", storedAs, func(_ *model.History, op *model.Operation) { op.ResultRV-- }, nil),
	tamperOperation("write", "fail with Conflict", "", storedAs, refusedWrite(model.Conflict), nil).as(linearizability.Preconditions),
	tamperOperation("write", "fail with AlreadyExists", "", storedAs, refusedWrite(model.AlreadyExists), nil),
	tamperOperation("write", "fail with NotFound", "", storedAs, refusedWrite(model.NotFound), nil),
	tamperOperation("write", "refused before it was tried", "", storedAs, refusedWrite(model.Unavailable), nil),
	tamperOperation("write", "refused as one of too many", "", storedAs, refusedWrite(model.TooMany), nil),
	tamperOperation("write", "refused as invalid", "", storedAs, refusedWrite(model.Invalid), nil),
	tamperOperation("write", "of unknown outcome", unknownEffect, storedAs, refusedWrite(model.Unknown), always),
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
	}, always),
})

// tamperInformer is an edit of each informer that has objects.
func tamperInformer(edit string, apply func(*model.History, *model.Informer)) tampering {
	full := func(h *model.History) []*model.Informer {
		return where(h.Informers, func(informer *model.Informer) bool { return len(informer.Objects) > 0 })
	}
	return at("informer", edit, "", full, func(h *model.History, informer *model.Informer) {
		informer.Objects = slices.Clone(informer.Objects)
		apply(h, informer)
	}, nil)
}

func informers(h *model.History) []*model.Informer {
	return where(h.Informers, func(*model.Informer) bool { return true })
}

// always is harmless everywhere, for edits of which a history cannot tell.
func always[T any](T, *secondOpinion) bool { return true }

var informerTamperings = []tampering{
	tamperInformer("drop an object", func(_ *model.History, i *model.Informer) { i.Objects = i.Objects[1:] }).as(linearizability.Converged),
	tamperInformer("an object twice", func(_ *model.History, i *model.Informer) { i.Objects = append(i.Objects, i.Objects[0]) }),
	tamperInformer("another value", func(_ *model.History, i *model.Informer) { i.Objects[0].Value = "another" }),
	tamperInformer("another UID", func(_ *model.History, i *model.Informer) { i.Objects[0].UID = "another" }),
	tamperInformer("another label", func(_ *model.History, i *model.Informer) {
		i.Objects[0].Labels = map[string]string{"other": "label"}
	}),
	tamperInformer("an object's RV too high", func(_ *model.History, i *model.Informer) { i.Objects[0].RV++ }),
	tamperInformer("an object's RV too low", func(_ *model.History, i *model.Informer) { i.Objects[0].RV-- }),
	tamperInformer("lastSyncResourceVersion below an object", func(_ *model.History, i *model.Informer) { i.LastSyncRV = i.Objects[0].RV - 1 }),
	tamperInformer("lastSyncResourceVersion beyond etcd", func(h *model.History, i *model.Informer) { i.LastSyncRV = h.Truth.Revision + 1 }),
	at("informer", "no lastSyncResourceVersion", "0 is unknown", informers, func(_ *model.History, i *model.Informer) { i.LastSyncRV = 0 }, always),
	breaks("informer", "an object that never was", informers, func(_ *model.History, i *model.Informer) {
		i.Objects = append(slices.Clone(i.Objects), model.Object{Namespace: i.Scope.Namespace, Name: "ghost", Value: "v", RV: 1})
	}, linearizability.Converged),
}

// tamperServer is an edit of each census of some phases, of those that are judged.
func tamperServer(edit string, apply func(*model.Census), phases ...model.Phase) tampering {
	return at("server", edit, "", censuses(phases...), func(_ *model.History, c *model.Census) { apply(c) }, nil).as(linearizability.Released)
}

// censuses finds those of some phases that were taken when the run had settled.
func censuses(phases ...model.Phase) func(*model.History) []*model.Census {
	return func(h *model.History) []*model.Census {
		settled := h.Healed + linearizability.DefaultConfig().DeliveryBound.Nanoseconds()
		return where(h.Censuses, func(c *model.Census) bool { return c.Time >= settled && slices.Contains(phases, c.Phase) })
	}
}

// twice finds two censuses in a row of a server with several clients.
func twice(h *model.History) (pairs [][2]*model.Census) {
	for _, census := range censuses(model.Serving)(h) {
		before := where(h.Censuses, func(c *model.Census) bool {
			return c.Server == census.Server && c.Phase == model.Serving && c.Time < census.Time
		})
		if census.Streams > 1 && len(before) > 0 {
			pairs = append(pairs, [2]*model.Census{before[len(before)-1], census})
		}
	}
	return pairs
}

var serverTamperings = []tampering{
	tamperServer("a stream too many once clients have left", func(c *model.Census) { c.Streams++ }, model.Left, model.Stopped),
	tamperServer("a watcher too many once clients have left", func(c *model.Census) { c.Watchers = 1 }, model.Left, model.Stopped),
	tamperServer("a second watch on etcd once clients have left", func(c *model.Census) { c.EtcdWatches = 2 }, model.Left),
	tamperServer("a watch on etcd after the stop", func(c *model.Census) { c.EtcdWatches = 1 }, model.Stopped),
	tamperServer("a goroutine after the stop", func(c *model.Census) { c.Goroutines = 1 }, model.Stopped),
	at("server", "a second watch on etcd, once", "one count may see the old watch and the new one", censuses(model.Serving),
		func(_ *model.History, c *model.Census) { c.EtcdWatches = 2 }, always),
	at("server", "more goroutines while it serves", "how many a server needs is its own affair", censuses(model.Serving),
		func(_ *model.History, c *model.Census) { c.Goroutines += 100 }, always),
	breaks("server", "a second watch on etcd, twice in a row", twice,
		func(_ *model.History, pair [2]*model.Census) { pair[0].EtcdWatches, pair[1].EtcdWatches = 2, 2 }, linearizability.Shared),
	breaks("server", "a watch on etcd for each client", twice, func(_ *model.History, pair [2]*model.Census) {
		for _, census := range pair {
			census.EtcdWatches = max(2, census.Streams)
		}
	}, linearizability.Shared),
}

// tamperRecord is an edit of each change that etcd committed, by its index.
func tamperRecord(edit, silence string, apply func(*model.History, int)) tampering {
	return at("etcd record", edit, silence, func(h *model.History) []record {
		all := make([]record, len(h.Truth.Changes))
		for i := range all {
			all[i] = record{i, h.Truth.Changes[i]}
		}
		return all
	}, func(h *model.History, r record) { apply(h, r.index) }, func(r record, o *secondOpinion) bool {
		return silence != "" && (r.before.Deleted || !witnessed(o.h, &r.before))
	})
}

// record is a change that etcd committed, as it was before the edit.
type record struct {
	index  int
	before model.Change
}

// witnessed reports whether a client was told the RV of a change by its own write,
// or received the event.
func witnessed(h *model.History, change *model.Change) bool {
	return slices.ContainsFunc(h.Operations, func(op model.Operation) bool { return storedAs(&op) && op.ResultRV == change.RV }) ||
		slices.ContainsFunc(h.Streams, func(s model.Stream) bool {
			return slices.ContainsFunc(s.Events, func(e model.Event) bool { return e.IsData() && e.RV == change.RV && !s.InitialEvents && s.RV > 0 })
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
	breaks("etcd record", "swap its RV with the next", func(h *model.History) (indices []int) {
		for i := range len(h.Truth.Changes) - 1 {
			indices = append(indices, i)
		}
		return indices
	}, func(h *model.History, i int) {
		a, b := &h.Truth.Changes[i], &h.Truth.Changes[i+1]
		a.RV, b.RV = b.RV, a.RV
	}, linearizability.Revision),
}

// tamperPairs is an edit of two lists in a row.
func tamperPairs(edit string, apply func(a, b *model.Operation)) tampering {
	return at("answers", edit, anotherState, func(h *model.History) (pairs [][2]*model.Operation) {
		lists := where(h.Operations, func(op *model.Operation) bool { return isList(op) && op.Limit == 0 && op.Continues == 0 })
		for i := range len(lists) - 1 {
			pairs = append(pairs, [2]*model.Operation{lists[i], lists[i+1]})
		}
		return pairs
	}, func(_ *model.History, p [2]*model.Operation) { apply(p[0], p[1]) }, func(p [2]*model.Operation, o *secondOpinion) bool {
		return listAllowed(p[0], o) && listAllowed(p[1], o)
	})
}

var exchangeTamperings = []tampering{
	tamperPairs("swap those of two lists", func(a, b *model.Operation) {
		a.Objects, b.Objects = b.Objects, a.Objects
		a.ResultRV, b.ResultRV = b.ResultRV, a.ResultRV
	}),
	tamperPairs("swap the items of two lists, not their RVs", func(a, b *model.Operation) { a.Objects, b.Objects = b.Objects, a.Objects }),
	tamperOperation("client", "another client's read", "the client had seen nothing newer of that server", isRead,
		func(_ *model.History, op *model.Operation) { op.Client = "i0" }, always),
	tamperOperation("server", "another server's read", "the other server may have answered the same", isRead,
		func(_ *model.History, op *model.Operation) { op.Server = fmt.Sprint("s", 3-int(op.Server[1]-'0')) }, always),
	tamperStream("another server's stream", "the other server may have sent the same", opened, func(s *model.Stream) { s.Server = fmt.Sprint("s", 3-int(s.Server[1]-'0')) }, always),
	tamperStream("another client's stream", "the client resumed nothing here", opened, func(s *model.Stream) { s.Client = "c9" }, always),
}

// mutation is an object that somebody received, and a stream whose consumer changes
// what it receives.
type mutation struct {
	own func() *model.Object // the object, which is nobody else's any more
	by  *model.Stream
}

// tamperMutation is an edit of each object that a client received other than by the
// stream whose consumer changed it.
func tamperMutation(subject string, received func(h *model.History, by *model.Stream) []func() *model.Object) tampering {
	return breaks(subject, "an object as another consumer changed it", func(h *model.History) (all []mutation) {
		for _, by := range where(h.Streams, func(s *model.Stream) bool { return s.Mutates }) {
			for _, own := range received(h, by) {
				all = append(all, mutation{own, by})
			}
		}
		return all
	}, func(_ *model.History, m mutation) {
		object := m.own()
		object.Labels = maps.Clone(object.Labels) // others have the same
		model.Mutate(object, m.by.ID)
	}, linearizability.Isolated)
}

func items(list *[]model.Object) (all []func() *model.Object) {
	for i := range *list {
		all = append(all, func() *model.Object { *list = slices.Clone(*list); return &(*list)[i] })
	}
	return all
}

var mutationTamperings = []tampering{
	tamperMutation("event", func(h *model.History, by *model.Stream) (all []func() *model.Object) {
		for _, p := range events(h, func(p place) bool { return p.event().IsData() && p.stream != by }) {
			all = append(all, p.own)
		}
		return all
	}),
	tamperMutation("read", func(h *model.History, _ *model.Stream) (all []func() *model.Object) {
		for i := range h.Operations {
			all = append(all, items(&h.Operations[i].Objects)...)
		}
		return all
	}),
	tamperMutation("informer", func(h *model.History, _ *model.Stream) (all []func() *model.Object) {
		for i := range h.Informers {
			all = append(all, items(&h.Informers[i].Objects)...)
		}
		return all
	}),
}
