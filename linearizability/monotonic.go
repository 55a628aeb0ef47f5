package linearizability

import (
	"cmp"
	"slices"

	"github.com/watchsim/watchsim/model"
)

// judgeViews judges Monotonic: it compares what each client reads with what it had
// seen before. Reads at a fixed RV, such as a watch from an RV or a list at exactly
// one, are left out, because the client chose that state.
//
// A read at RV 0 and one that is not older than an RV may be served from a server's
// cache. A cache never goes back behind what it has sent to a stream, not even when it
// relists, as it then lists the current state of etcd. But another server may lag behind,
// so may a cache that replaces another one, and a cache may lag behind a list or get that
// etcd itself served. An older state is then no violation but TimeTravel, which makes a
// client unsafe that restarts after a crash (kubernetes/kubernetes #59848).
//
// An informer that has a state does not read at RV 0: client-go's reflector relists at the
// RV it had reached, or the newest (Reflector.relistResourceVersion). Whatever it has seen
// from any server is a lower bound for all its reads.
//
// Linearizable, Initial and Most-recent judge reads of the newest state, which must be
// at least as new as anything that anybody has seen.
func judgeViews(f *facts, out *findings) {
	for _, client := range f.viewers() {
		client.judge(f, out)
	}
}

// viewer is one client: what it saw, and the reads that may return an older state.
type viewer struct {
	informer bool
	looks    []look
	walks    []*walk
	reads    []*model.Operation
	// travels is how many of the client's time travels are reported.
	travels int
}

// look is a read whose state the server chooses, within limits.
type look struct {
	call   int64
	server string
	asks   freshness
	op     *model.Operation // a list or get
	walk   *walk            // instead of op: a stream with an initial block
}

// returned returns when the look was answered.
func (l *look) returned() int64 {
	if l.walk != nil {
		return l.walk.stream.Return
	}
	return l.op.Return
}

// viewers gathers the reads and streams of each client that has looks, in the order
// in which clients appear.
func (f *facts) viewers() []*viewer {
	var all []*viewer
	byName := map[string]*viewer{}
	of := func(client string) *viewer {
		v := byName[client]
		if v == nil {
			v = &viewer{informer: f.isInformer(client)}
			byName[client] = v
			all = append(all, v)
		}
		return v
	}
	for op := range model.Each(f.history.Operations) {
		if (op.Kind != model.List && op.Kind != model.Get) || op.Lost() {
			continue
		}
		v := of(op.Client)
		if op.Err == model.OK {
			v.reads = append(v.reads, op)
		}
		if asks := freshnessOf(op); asks != exactly && asks != mostRecent && (op.Err == model.OK || op.Err == model.NotFound) {
			v.looks = append(v.looks, look{call: op.Call, server: op.Server, asks: asks, op: op})
		}
	}
	for _, w := range f.walks {
		s := w.stream
		if s.Err != model.OK {
			continue
		}
		v := of(s.Client)
		v.walks = append(v.walks, w)
		if asks := w.asks(); asks != mostRecent && s.Watch().HasBlock() && !w.partial && s.Refusal() == model.OK && len(s.Events) > 0 {
			v.looks = append(v.looks, look{call: s.Call, server: s.Server, asks: asks, walk: w})
		}
	}
	return slices.DeleteFunc(all, func(v *viewer) bool { return len(v.looks) == 0 })
}

// isInformer reports whether a client is known to be an informer, which follows the
// list-watch protocol.
func (f *facts) isInformer(client string) bool {
	return slices.ContainsFunc(f.history.Informers, func(i model.Informer) bool { return i.Client == client })
}

// asks returns how fresh the initial events of a stream must be: see [model.Watch.Oldest].
func (w *walk) asks() freshness {
	switch {
	case w.stream.RV == model.RVUnset && w.stream.InitialEvents:
		return mostRecent
	case w.stream.RV <= 0:
		return anyState
	}
	return notOlderThan
}

// judge compares each look with what the client had seen before its call.
func (v *viewer) judge(f *facts, out *findings) {
	slices.SortStableFunc(v.looks, func(a, b look) int { return cmp.Compare(a.call, b.call) })
	last := v.looks[len(v.looks)-1].call
	var seen model.Staircase
	streamed := map[string]model.Staircase{} // by server: what its cache had sent to the client's streams
	for _, op := range v.reads {
		if rv := readAt(op); rv <= f.bounds.maxRV(op.Return) {
			seen = append(seen, model.Moment{Time: op.Return, RV: rv, Operation: op})
		}
	}
	for _, w := range v.walks {
		if v.informer && w.cutOff() {
			continue // the reflector discards an incomplete block
		}
		sights := w.sights(0, last)
		seen = append(seen, sights...)
		if server := w.stream.Server; !mayBypassCache(w.stream) {
			streamed[server] = append(streamed[server], sights...)
		}
	}
	seen = model.NewStaircase(seen)
	for server := range streamed {
		streamed[server] = model.NewStaircase(streamed[server])
	}
	for i := range v.looks {
		l := &v.looks[i]
		newest, _ := streamed[l.server].Before(l.call)
		anywhere, _ := seen.Before(l.call)
		switch {
		case f.shows(l, newest) && !f.replaced(l.server, min(l.call, newest.Stream.Call), l.returned()):
			out.violate(Monotonic, wentBack, l.witness(newest))
		case v.informer && l.asks == anyState && f.shows(l, anywhere):
			out.violate(Monotonic, wentBack, l.witness(anywhere))
		case l.asks == anyState && f.shows(l, anywhere):
			if out.judged.TimeTravels++; v.travels < f.config.ViolationsPerSource || f.config.ViolationsPerSource == 0 {
				v.travels++
				out.observations = append(out.observations, Violation{Guarantee: TimeTravel, Code: wentBack, Witness: l.witness(anywhere)})
			}
		}
	}
}

// shows reports whether a look returned a state that is certainly older than what
// had been seen.
func (f *facts) shows(l *look, what model.Moment) bool {
	switch {
	case what.RV == 0:
		return false
	case l.walk != nil:
		return l.walk.start < what.RV && !l.walk.mayBeCutOff(what.RV)
	case l.op.Kind == model.List:
		return l.op.ResultRV < what.RV
	case l.op.Err == model.NotFound:
		return f.storedFrom(l.op.Key(), what.RV, f.bounds.maxRV(l.op.Return)) != nil
	}
	version, known := f.store.VersionAt(l.op.Key(), objectRV(l.op))
	return known && version.RV == objectRV(l.op) && version.Until <= what.RV
}

// mayBeCutOff reports whether the initial block may be the beginning of a newer one,
// at the given RV or above it: the events of a stream that ended early can look like a
// complete older state.
func (w *walk) mayBeCutOff(rv int64) bool {
	events := w.stream.Events
	if w.block < len(events) && events[w.block].Type != model.Error || w.blockEnds() {
		return false
	}
	return w.isPartialBlock(w.block, rv)
}

// blockEnds reports whether a bookmark ends the initial block.
func (w *walk) blockEnds() bool { return w.block > 0 && w.stream.Events[w.block-1].InitialEnd }

// cutOff reports whether a bookmark should have ended the initial block, but did not arrive.
func (w *walk) cutOff() bool { return w.stream.InitialEvents && !w.blockEnds() }

// objectRV returns the RV of the object that a get returned.
func objectRV(op *model.Operation) int64 {
	if len(op.Objects) > 0 {
		return op.Objects[0].RV
	}
	return op.ResultRV
}

// witness returns the look, and what the client had seen before it.
func (l *look) witness(newest model.Moment) Witness {
	if l.walk != nil {
		return onStream(l.walk.stream, newest.RV).got(l.walk.start).afterSeeing(newest)
	}
	return about(l.op, newest.RV).afterSeeing(newest)
}
