package linearizability_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/model"
)

const (
	benchNamespaces = 20
	benchNames      = 50 // in each namespace
	benchClients    = 32 // that read and write at the same time
	millisecond     = int64(1_000_000)
	maxReach        = 8  // milliseconds between an operation's call, its effect and its return
	cacheLag        = 3  // milliseconds that the cache is behind etcd
	deliveryLag     = 5  // milliseconds from a change's commit to its arrival
	maxResumed      = 4  // streams that resume one another
	bookmarkEvery   = 40 // events
)

// largeGenerator makes a history that obeys the model: one etcd, one cache that is a
// few milliseconds behind it, clients that read and write, and watchers that open
// streams, close them and resume. One operation takes effect each millisecond.
type largeGenerator struct {
	*rand.Rand
	h        *model.History
	revision int64
	stored   map[model.Key]*model.Object
	// revisions is etcd's revision after each millisecond.
	revisions []int64
	// free is when each client's last operation returned.
	free  []int64
	store *model.Store
}

// generateLarge makes a history with so many reads and writes, and at least so many
// events. Nothing in it is shared between events, as if it had been read from a file.
func generateLarge(operations, minEvents int, seed uint64) *model.History {
	g := &largeGenerator{Rand: rand.New(rand.NewPCG(seed, 0)), h: &model.History{}, revision: 1,
		stored: map[model.Key]*model.Object{}, free: make([]int64, benchClients)}
	for range operations {
		g.operate()
	}
	g.h.Truth.Revision = g.revision
	g.store = model.NewStore(&g.h.Truth)
	g.fillReads()
	for events := 0; events < minEvents; {
		events += g.watch(min(minEvents-events, 2000))
	}
	g.h.Healed = g.now() + (maxReach+deliveryLag)*millisecond
	g.h.End = g.h.Healed + 60_000*millisecond
	return g.h
}

// now is the simulated time, in nanoseconds.
func (g *largeGenerator) now() int64 { return int64(len(g.revisions)) * millisecond }

// cached is the revision that the cache has reached by a millisecond.
func (g *largeGenerator) cached(at int) int64 {
	return g.revisions[max(0, min(at, len(g.revisions))-1-cacheLag)]
}

// operate records one operation that takes effect now. What it reads is filled
// in when all changes are known.
func (g *largeGenerator) operate() {
	client := g.IntN(benchClients)
	for g.free[client] >= g.now() && g.now() > 0 { // busy; an operation is too short for all to be
		client = (client + 1) % benchClients
	}
	op := model.Operation{ID: len(g.h.Operations) + 1, Client: fmt.Sprint("client-", client), Server: "server", RV: model.RVUnset, Remaining: -1}
	op.Call = min(g.now(), max(0, g.free[client]+1, g.now()-g.Int64N(maxReach)*millisecond))
	op.Return = g.now() + g.Int64N(maxReach)*millisecond
	g.free[client] = op.Return
	switch n := g.IntN(100); {
	case n < 60:
		g.write(&op)
	case n < 90:
		op.Kind, op.Scope = model.Get, model.Scope(g.key())
		if g.IntN(2) == 0 && len(g.revisions) > 0 {
			op.RV = g.Int64N(2) * g.cached(len(g.revisions))
		}
	default:
		op.Kind, op.Scope = model.List, model.Scope{Namespace: g.key().Namespace}
		if g.IntN(2) == 0 {
			op.Selector = model.Selector{Labels: map[string]string{"app": "web"}}
		}
		if g.IntN(2) == 0 && len(g.revisions) > 0 {
			op.RV = g.Int64N(2) * g.cached(len(g.revisions))
		}
		if op.RV > 0 {
			op.Match = model.MatchNotOlderThan
		}
	}
	g.revisions = append(g.revisions, g.revision)
	g.h.Operations = append(g.h.Operations, op)
}

func (g *largeGenerator) key() model.Key { return benchKey(g.IntN(benchNamespaces * benchNames)) }

// benchKey returns a key by its number. Those of a namespace are consecutive.
func benchKey(i int) model.Key {
	return model.Key{Namespace: fmt.Sprint("namespace-", i/benchNames), Name: fmt.Sprint("name-", i%benchNames)}
}

// write commits a create, an update or a delete. The outcome of one in a hundred
// is never known.
func (g *largeGenerator) write(op *model.Operation) {
	key := g.key()
	last := g.stored[key]
	op.Scope, op.Kind = model.Scope(key), model.Update
	object := model.Object{Namespace: key.Namespace, Name: key.Name, Value: fmt.Sprint("value-", op.ID),
		Labels: map[string]string{"app": []string{"web", "db", "cache"}[g.IntN(3)]}, Node: fmt.Sprint("node-", g.IntN(10))}
	deleted := false
	switch {
	case last == nil:
		op.Kind, object.UID = model.Create, fmt.Sprint("uid-", op.ID)
	case g.IntN(8) == 0:
		op.Kind, object, deleted = model.Delete, *last, true
	default:
		object.UID = last.UID
	}
	if !deleted {
		meant := object
		if op.Kind == model.Create {
			meant.UID = ""
		}
		op.Object = &meant
	}
	if last != nil && g.IntN(4) == 0 {
		op.Precondition = last.RV
	}
	g.revision++
	object.RV = g.revision
	g.h.Truth.Changes = append(g.h.Truth.Changes, model.Change{RV: g.revision, Deleted: deleted, Object: object})
	if deleted {
		delete(g.stored, key)
	} else {
		g.stored[key] = &object
	}
	if g.IntN(100) == 0 {
		op.Err = model.Unknown
	} else {
		op.ResultRV = g.revision
	}
}

// fillReads gives each read the state it took effect on: etcd's, or the cache's
// if it names an RV.
func (g *largeGenerator) fillReads() {
	for i := range g.h.Operations {
		op := &g.h.Operations[i]
		if op.Kind != model.Get && op.Kind != model.List {
			continue
		}
		rv := g.revisions[i]
		if op.RV != model.RVUnset {
			rv = g.cached(i)
		}
		if op.Kind == model.List {
			op.ResultRV = rv
			for _, object := range g.store.List(op.Scope, op.Selector, rv) {
				op.Objects = append(op.Objects, *copied(object))
			}
		} else if object := g.store.Object(model.Key(op.Scope), rv); object == nil {
			op.Err = model.NotFound
		} else {
			op.ResultRV, op.Objects = object.RV, []model.Object{*copied(object)}
		}
	}
}

// watch has one watcher open streams, each resuming the one before, and returns
// how many events they received.
func (g *largeGenerator) watch(most int) (events int) {
	client := fmt.Sprint("watcher-", len(g.h.Streams))
	scope, selector := g.query()
	begin := g.IntN(max(1, len(g.revisions)-10)) // the millisecond of the call
	from := g.cached(begin)
	request := model.Stream{RV: from, Bookmarks: true}
	switch g.IntN(3) {
	case 0:
		request.RV, request.InitialEvents = model.RVUnset, true
		// What is committed by the call has to be in the block.
		from = g.revisions[min(begin+maxReach, len(g.revisions)-1)]
	case 1:
		request.RV, request.Bookmarks = 0, false
	}
	for link := range 1 + g.IntN(maxResumed) {
		s := request
		s.ID, s.Client, s.Server, s.Scope, s.Selector = len(g.h.Streams)+1, client, "server", scope, selector
		s.Call = int64(begin) * millisecond
		if link > 0 {
			s.RV, s.Bookmarks, s.InitialEvents, s.ResumesStream = from, true, false, s.ID-1
			s.Call = g.h.Streams[s.ID-2].Closed + 1
		}
		s.Return = s.Call + 1
		ended := false
		from, ended = g.fill(&s, from, 50+g.IntN(400))
		for i := range s.Events {
			if s.Events[i].Type != model.Bookmark {
				events++
			}
		}
		g.h.Streams = append(g.h.Streams, s)
		if !ended || events > most {
			break // it is open to the end, or there are enough
		}
	}
	return events
}

// query draws what a watcher selects: mostly a namespace, or part of one.
func (g *largeGenerator) query() (model.Scope, model.Selector) {
	key := g.key()
	switch g.IntN(10) {
	case 0:
		return model.Scope{}, model.Selector{}
	case 1:
		return model.Scope{}, model.Selector{Node: fmt.Sprint("node-", g.IntN(10))}
	case 2:
		return model.Scope(key), model.Selector{}
	case 3, 4, 5:
		return model.Scope{Namespace: key.Namespace}, model.Selector{Labels: map[string]string{"app": "web"}}
	}
	return model.Scope{Namespace: key.Namespace}, model.Selector{}
}

// fill puts events on a stream that begins at an RV, and returns the last RV that
// its client has seen. The stream is closed after some events; false if there are
// not as many, so that it is open to the end and has everything.
func (g *largeGenerator) fill(s *model.Stream, from int64, most int) (int64, bool) {
	now := max(s.Return, g.time(from))
	add := func(e model.Event) {
		e.Stream, e.Time = s.ID, now
		s.Events = append(s.Events, e)
	}
	if s.InitialEvents || s.RV == 0 {
		for _, object := range g.store.List(s.Scope, s.Selector, from) {
			add(model.Event{Type: model.Added, RV: object.RV, Object: copied(object)})
		}
		if s.InitialEvents {
			add(model.Event{Type: model.Bookmark, RV: from, InitialEnd: true})
		}
	}
	owed := g.store.Owed(s.Scope, s.Selector, from, min(g.revision, from+int64(most)*200))
	ended := len(owed) >= most || (len(owed) > 0 && from+int64(most)*200 < g.revision)
	for i, t := range owed[:min(len(owed), most)] {
		now = max(now, g.time(t.RV))
		add(model.Event{Type: t.Type, RV: t.RV, Object: copied(t.Object)})
		from = t.RV
		if s.Bookmarks && i%bookmarkEvery == bookmarkEvery-1 {
			add(model.Event{Type: model.Bookmark, RV: from})
		}
	}
	s.Closed = model.Pending
	if ended || len(owed) == 0 && g.store.CountChanges(from, g.revision) > 0 { // nothing came for a long time, and the client gave up
		s.Closed, s.Reason = now+1, model.ClosedByClient
	}
	return from, ended
}

// time is when a change arrives at a client at the earliest.
func (g *largeGenerator) time(rv int64) int64 {
	at, _ := slices.BinarySearch(g.revisions, rv)
	return int64(at+deliveryLag) * millisecond
}

// copied returns an object that shares nothing with the one it is a copy of.
func copied(o *model.Object) *model.Object {
	c := *o
	c.Namespace, c.Name, c.Node = strings.Clone(o.Namespace), strings.Clone(o.Name), strings.Clone(o.Node)
	c.Value, c.UID, c.Labels = strings.Clone(o.Value), strings.Clone(o.UID), maps.Clone(o.Labels)
	return &c
}
