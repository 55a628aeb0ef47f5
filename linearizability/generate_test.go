package linearizability_test

import (
	"fmt"
	"math/rand/v2"

	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/model"
)

// chooser makes a generator's choices: rapid's, which shrink, or a seeded
// generator's, which are fast.
type chooser interface {
	below(n int) int
}

type rapidChooser struct{ t *rapid.T }

func (c rapidChooser) below(n int) int { return rapid.IntRange(0, n-1).Draw(c.t, "choice") }

type randomChooser struct{ *rand.Rand }

func (c randomChooser) below(n int) int { return c.IntN(n) }

// world is the simplest correct store, with two correct caches over it. It records
// what clients see of it: histories that obey the model.
type world struct {
	chooser
	h        model.History
	now      int64
	revision int64
	values   int
	objects  map[model.Key]*model.Object
	servers  []*server
	streams  []*openStream
	// followers are the clients that follow the list-watch protocol.
	followers []*follower
	// indexed is the store of the first changes, most of the time of all.
	indexed *model.Store
	changes int
}

// server is one cache: its position in etcd's history, and the start of its window.
type server struct {
	name   string
	rv     int64
	listed int64
}

// openStream is a watch whose client reads.
type openStream struct {
	index  int // into History.Streams
	server *server
	cursor int64
}

const step = int64(1_000_000) // one millisecond

func newWorld(c chooser) *world {
	w := &world{chooser: c, revision: 1, objects: map[model.Key]*model.Object{}}
	w.servers = []*server{{name: "s1", rv: 1, listed: 1}, {name: "s2", rv: 1, listed: 1}}
	w.followers = []*follower{{client: "i0"}, {client: "i1", scope: model.Scope{Namespace: "a"}}}
	return w
}

// generate runs a world for a number of steps, heals it and lets it settle.
func generate(c chooser, steps int) *model.History {
	w := newWorld(c)
	for range w.below(4) { // objects from before the first client started
		w.seed()
	}
	for range steps {
		w.now += step
		if w.below(20) == 0 {
			w.countEarly()
		}
		switch w.below(14) {
		case 0, 1, 2, 3:
			w.write()
		case 4:
			w.get()
		case 5:
			w.list()
		case 6:
			w.open()
		case 7:
			w.disturb()
		case 8, 9:
			w.followers[w.below(len(w.followers))].act(w)
		default:
			w.deliver()
		}
	}
	w.rest()
	return &w.h
}

func (w *world) key() model.Key {
	return model.Key{Namespace: []string{"a", "a-b", "b"}[w.below(3)], Name: []string{"x", "y", "z"}[w.below(3)]}
}

func (w *world) scope() model.Scope {
	return []model.Scope{{}, {}, {Namespace: "a"}, {Namespace: "b", Name: "x"}}[w.below(4)]
}

func (w *world) selector() model.Selector {
	return []model.Selector{{}, {}, {Labels: map[string]string{"app": "web"}}, {Node: "n1"}}[w.below(4)]
}

func (w *world) fresh(key model.Key) model.Object {
	w.values++
	object := model.Object{Namespace: key.Namespace, Name: key.Name, Value: fmt.Sprint("v", w.values)}
	if w.below(2) == 0 {
		object.Labels = map[string]string{"app": "web"}
	}
	if w.below(3) == 0 {
		object.Node = "n1"
	}
	return object
}

// commit applies a change at the next revision. Other resources take some too.
func (w *world) commit(object model.Object, deleted bool) int64 {
	w.revision += 1 + int64(w.below(3)/2)
	w.h.Truth.Revision = w.revision
	stored := object
	stored.RV = w.revision
	if deleted {
		delete(w.objects, object.Key())
	} else {
		if last := w.objects[object.Key()]; last != nil {
			stored.UID = last.UID
		} else {
			stored.UID = fmt.Sprint("uid", w.revision)
		}
		w.objects[object.Key()] = &stored
	}
	w.h.Truth.Changes = append(w.h.Truth.Changes, model.Change{RV: w.revision, Deleted: deleted, Object: stored})
	return w.revision
}

func (w *world) seed() {
	if key := w.key(); w.objects[key] == nil {
		w.commit(w.fresh(key), false)
	}
	for _, s := range w.servers {
		s.rv, s.listed = w.revision, w.revision
	}
}

// operation records an operation that takes effect now and whose interval
// reaches some steps into the past and the future.
func (w *world) operation(op model.Operation) *model.Operation {
	op.ID = len(w.h.Operations) + 1
	op.Client = fmt.Sprint("c", w.below(3))
	op.Call = max(0, w.now-step*int64(w.below(4)))
	op.Return = w.now + step*int64(w.below(4))
	w.h.Operations = append(w.h.Operations, op)
	return &w.h.Operations[len(w.h.Operations)-1]
}

func (w *world) write() {
	key := w.key()
	stored := w.objects[key]
	op := w.operation(model.Operation{Server: w.server().name, Scope: model.Scope(key)})
	op.Kind = []model.Kind{model.Create, model.Update, model.Update, model.Delete}[w.below(4)]
	if stored == nil && w.below(4) > 0 {
		op.Kind = model.Create
	}
	object := w.fresh(key)
	if op.Kind == model.Delete && stored != nil {
		object = *stored
	}
	if op.Kind != model.Delete {
		op.Object = &object
	}
	if stored != nil && op.Kind != model.Create && w.below(3) == 0 {
		op.Precondition = stored.RV - int64(w.below(2))
	}
	outcome := w.below(10)
	if outcome == 0 {
		op.Err = model.Unavailable
		return
	}
	switch {
	case op.Kind == model.Create && stored != nil:
		op.Err = model.AlreadyExists
	case op.Kind != model.Create && stored == nil:
		op.Err = model.NotFound
	case op.Precondition != 0 && op.Precondition != stored.RV:
		op.Err = model.Conflict
	case outcome == 1:
		op.Err = model.Unknown // and it had no effect
		return
	default:
		rv := w.commit(object, op.Kind == model.Delete)
		if op.Kind != model.Delete || w.below(2) == 0 {
			op.ResultRV = rv
		}
		if op.Kind != model.Delete {
			op.Objects = []model.Object{*w.objects[key]}
		}
	}
	switch outcome {
	case 2: // the answer was lost; the effect may come after the client gave up
		op.Err, op.ResultRV, op.Objects = model.Unknown, 0, nil
		op.Return = max(op.Call, op.Return-4*step)
	case 3:
		op.Return, op.ResultRV, op.Err, op.Objects = model.Pending, 0, model.OK, nil
	}
}

// advance lets a cache catch up in part, or fully.
func (w *world) advance(s *server, all bool) {
	if behind := int(w.revision - s.rv); all {
		s.rv = w.revision
	} else if behind > 0 {
		s.rv += int64(w.below(behind + 1))
	}
}

func (w *world) server() *server {
	s := w.servers[w.below(2)]
	w.advance(s, false)
	return s
}

func (w *world) store() *model.Store {
	if w.indexed == nil || w.changes < len(w.h.Truth.Changes) {
		w.indexed, w.changes = model.NewStore(&w.h.Truth), len(w.h.Truth.Changes)
	}
	return w.indexed
}

func (w *world) get() {
	key, s := w.key(), w.server()
	op := w.operation(model.Operation{Kind: model.Get, Server: s.name, RV: model.RVUnset,
		Scope: model.Scope(key)})
	object := w.objects[key]
	if w.below(2) == 0 {
		op.RV = int64(w.below(int(s.rv) + 1))
		object = w.store().Object(key, s.rv)
		if w.below(8) == 0 {
			op.RV, op.Err = w.revision+5, model.TooLarge
			return
		}
	}
	if object == nil {
		op.Err = model.NotFound
		return
	}
	op.ResultRV, op.Objects = object.RV, []model.Object{*object}
}

func (w *world) list() {
	s := w.server()
	op := w.operation(model.Operation{Kind: model.List, Server: s.name, Scope: w.scope(), Selector: w.selector(), Remaining: -1})
	if w.below(2) == 0 {
		op.Limit = int64(1 + w.below(3))
	}
	compacted := w.h.Truth.CompactedBy(w.now)
	rv := s.rv
	switch w.below(4) {
	case 0:
		op.RV, rv = model.RVUnset, w.revision
	case 1:
		op.RV = 0
		op.Limit = 0
	case 2:
		op.RV, op.Match = 1+int64(w.below(int(s.rv))), model.MatchNotOlderThan
	case 3:
		op.RV = 1 + int64(w.below(int(w.revision)))
		rv = op.RV
		if op.Limit == 0 || op.Scope.Name != "" || w.below(2) == 0 {
			op.Match = model.MatchExact
		}
		if model.ReadRefused(rv, compacted) {
			op.Err = model.Expired
			return
		}
	}
	w.page(op, w.store().List(op.Scope, op.Selector, rv), rv)
}

// page fills in one page of a list, and has the client read the following ones.
func (w *world) page(op *model.Operation, rest []*model.Object, rv int64) {
	op.ResultRV = rv
	size := len(rest)
	if op.Limit > 0 && int(op.Limit) < size {
		size, op.HasMore = int(op.Limit), true
		if op.Selector.Empty() {
			op.Remaining = int64(len(rest) - size)
		}
	}
	for _, object := range rest[:size] {
		op.Objects = append(op.Objects, *object)
	}
	if !op.HasMore {
		return
	}
	first := *op
	w.now += 5 * step
	if w.below(3) == 0 {
		w.write()
		w.compact()
	}
	following := func(continued int) *model.Operation {
		return w.operation(model.Operation{Kind: model.List, Server: first.Server, Scope: first.Scope, Selector: first.Selector,
			Limit: first.Limit, RV: model.RVUnset, Continues: continued, Remaining: -1})
	}
	next := following(first.ID)
	if model.ReadRefused(rv, w.h.Truth.CompactedBy(w.now)) {
		next.Err = model.Expired
		w.now += 5 * step
		next, rv = following(next.ID), w.revision
	}
	last := first.Objects[len(first.Objects)-1].Key()
	var left []*model.Object
	for _, object := range w.store().List(first.Scope, first.Selector, rv) {
		if last.Compare(object.Key()) < 0 {
			left = append(left, object)
		}
	}
	w.page(next, left, rv)
}

func (w *world) compact() {
	rv := w.revision - int64(w.below(4))
	if rv > w.h.Truth.CompactedBy(w.now) && rv > 0 {
		w.h.Truth.Compactions = append(w.h.Truth.Compactions, model.Compaction{RV: rv, Time: w.now})
	}
}

// open starts a watch.
func (w *world) open() {
	s := w.server()
	stream := model.Stream{ID: len(w.h.Streams) + 1, Client: fmt.Sprint("c", w.below(3)), Server: s.name,
		Call: w.now, Return: w.now, Closed: model.Pending, Scope: w.scope(), Selector: w.selector(),
		Bookmarks: w.below(3) > 0, Mutates: w.below(4) == 0}
	w.now += step
	switch w.below(5) {
	case 0:
		stream.RV = 0
	case 1:
		stream.RV = model.RVUnset
	case 2:
		stream.InitialEvents = true
		stream.RV = []int64{model.RVUnset, 0, s.rv}[w.below(3)]
		if stream.RV == model.RVUnset {
			w.advance(s, true)
		}
	default:
		stream.RV = 1 + int64(w.below(int(s.rv)))
		if stream.RV < s.listed {
			if w.below(2) == 0 {
				stream.Err, stream.Closed = model.Expired, w.now
			} else {
				stream.Closed, stream.Reason = w.now, model.ClosedByError
				stream.Events = []model.Event{{Stream: stream.ID, Time: w.now, Type: model.Error, Err: model.Expired}}
			}
			w.h.Streams = append(w.h.Streams, stream)
			return
		}
		if w.below(8) == 0 {
			stream.RV = w.revision + 3
		}
	}
	block := stream.InitialEvents || stream.RV <= 0
	cursor := stream.RV
	if block {
		cursor = s.rv
		for _, object := range w.store().List(stream.Scope, stream.Selector, s.rv) {
			stream.Events = append(stream.Events, model.Event{Stream: stream.ID, Time: w.now, Type: model.Added, RV: object.RV, Object: object})
		}
		if w.below(12) == 0 { // the connection died within the block
			stream.Events = stream.Events[:w.below(len(stream.Events)+1)]
			stream.Closed, stream.Reason = w.now, model.ClosedByReset
			w.fault("reset", stream.Client, stream.Server)
			w.h.Streams = append(w.h.Streams, stream)
			return
		}
		if stream.InitialEvents && stream.Bookmarks {
			stream.Events = append(stream.Events, model.Event{Stream: stream.ID, Time: w.now, Type: model.Bookmark, RV: s.rv, InitialEnd: true})
		}
	}
	w.streams = append(w.streams, &openStream{index: len(w.h.Streams), server: s, cursor: cursor})
	w.h.Streams = append(w.h.Streams, stream)
}

// deliver lets one stream, or all, catch up with its server.
func (w *world) deliver() {
	if len(w.streams) == 0 {
		return
	}
	if w.below(4) > 0 {
		for _, open := range w.streams {
			w.deliverTo(open)
		}
		return
	}
	w.deliverTo(w.streams[w.below(len(w.streams))])
}

func (w *world) deliverTo(open *openStream) {
	stream := &w.h.Streams[open.index]
	w.advance(open.server, false)
	for _, t := range w.store().Owed(stream.Scope, stream.Selector, open.cursor, open.server.rv) {
		stream.Events = append(stream.Events, model.Event{Stream: stream.ID, Time: w.now, Type: t.Type, RV: t.RV, Object: t.Object})
	}
	open.cursor = max(open.cursor, open.server.rv)
	if stream.Bookmarks && open.cursor <= open.server.rv && w.below(4) == 0 {
		stream.Events = append(stream.Events, model.Event{Stream: stream.ID, Time: w.now, Type: model.Bookmark, RV: open.cursor})
	}
}

// rest heals the world and lets everything catch up.
func (w *world) rest() {
	w.now += 10 * step
	w.h.Healed = w.now
	for _, s := range w.servers {
		w.advance(s, true)
	}
	w.now += step
	for _, open := range w.streams {
		w.deliverTo(open)
	}
	for _, f := range w.followers {
		informer := model.Informer{Client: f.client, Server: "s1", Scope: f.scope, LastSyncRV: w.revision}
		for _, object := range w.store().List(f.scope, model.Selector{}, w.revision) {
			informer.Objects = append(informer.Objects, *object)
		}
		w.h.Informers = append(w.h.Informers, informer)
	}
	w.h.Truth.Revision = w.revision
	w.h.End = w.now + 60_000*step
	w.countLate()
}
