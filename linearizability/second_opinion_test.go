package linearizability_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/watchsim/watchsim/model"
)

// This file judges histories a second time from etcd's and Kubernetes' published
// rules, by code that shares only the types of a history with the oracle: no store,
// no transitions, no bounds, no state machine. It is slow. It writes out the whole
// resource at every revision, and what a stream should have received from every RV
// that it can have begun at, and compares texts.
//
// etcd's guarantees for a watch (etcd.io, "KV API guarantees") and what they mean for
// clients of Kubernetes:
//
//   - Ordered, unique, reliable: as published, for the changes after the initial
//     events, which are Kubernetes' own, and in no order.
//   - Atomic: all events of a revision arrive together. Kubernetes changes one
//     object in a revision, so this is trivial.
//   - Resumable: a watch can be established again after the last revision seen.
//     That the rest of a stream is then owed again is a property of the
//     specification (model, TestAStreamResumesAnywhere); Expired judges whether a
//     cache still has it. etcd loses it only by compaction, a cache also by
//     dropping the oldest of its window.
//   - Bookmarkable: progress notifications guarantee all events up to them.
//     Kubernetes' bookmarks do too; etcd sends its own on request, Kubernetes only to
//     watches that allow them.
//
// And where the published rules are stricter than the oracle:
//
//   - A watch without an RV starts at "most recent" in Kubernetes' table. The
//     cacher serves any state it has, unless initial events are requested.
//   - etcd's events carry what was written; those with a selector do not. An object that
//     no longer matches is DELETED, with its last matching state (API concepts, and
//     watch.Event).
type secondOpinion struct {
	h *model.History
	// content is the resource at each revision.
	content []map[string]model.Object
}

func newSecondOpinion(h *model.History) *secondOpinion {
	o := &secondOpinion{h: h}
	now := map[string]model.Object{}
	for rv := range h.Truth.Revision + 1 {
		for _, change := range h.Truth.Changes {
			if change.RV != rv {
				continue
			}
			object := change.Object
			object.RV = rv
			name := object.Namespace + "/" + object.Name
			if delete(now, name); !change.Deleted {
				now[name] = object
			}
		}
		o.content = append(o.content, maps.Clone(now))
	}
	return o
}

// selected returns what a query selects at a revision.
func (o *secondOpinion) selected(scope model.Scope, selector model.Selector, rv int64) map[string]model.Object {
	found := map[string]model.Object{}
	for name, object := range o.content[min(max(rv, 0), int64(len(o.content))-1)] {
		wanted := (scope.Namespace == "" || scope.Namespace == object.Namespace) && (scope.Name == "" || scope.Name == object.Name) &&
			(selector.Node == "" || selector.Node == object.Node)
		for label, value := range selector.Labels {
			if got, there := object.Labels[label]; !there || got != value {
				wanted = false
			}
		}
		if wanted {
			found[name] = object
		}
	}
	return found
}

// text is an object or event in full.
func text(kind model.EventType, o model.Object) string {
	return fmt.Sprintf("%s %s/%s@%d %q %q %q %v", kind, o.Namespace, o.Name, o.RV, o.Value, o.UID, o.Node, o.Labels)
}

// line is an event that is expected.
type line struct {
	rv   int64
	text string
}

// expected is all that happens to a selection after a revision.
func (o *secondOpinion) expected(s *model.Stream, after int64) (lines []line) {
	for rv := max(after, 0) + 1; rv <= o.h.Truth.Revision; rv++ {
		before, now := o.selected(s.Scope, s.Selector, rv-1), o.selected(s.Scope, s.Selector, rv)
		for name, object := range now {
			if last, there := before[name]; !there {
				lines = append(lines, line{rv, text(model.Added, object)})
			} else if last.RV != object.RV {
				lines = append(lines, line{rv, text(model.Modified, object)})
			}
		}
		for name, last := range before {
			if _, there := now[name]; !there {
				last.RV = rv
				lines = append(lines, line{rv, text(model.Deleted, last)})
			}
		}
	}
	return lines
}

// commits calls back for every write whose revision is known.
func (o *secondOpinion) commits(each func(op *model.Operation, rv int64)) {
	for op := range model.Each(o.h.Operations) {
		lost := op.Err == model.Unknown || op.Return == model.Pending
		if op.Err != model.OK && !lost {
			continue
		}
		for _, change := range o.h.Truth.Changes {
			same := change.Object.Namespace == op.Scope.Namespace && change.Object.Name == op.Scope.Name
			wrote := (op.Kind == model.Create || op.Kind == model.Update) && op.Object != nil && !change.Deleted && change.Object.Value == op.Object.Value
			deleted := op.Kind == model.Delete && !lost && change.Deleted && op.ResultRV == change.RV
			if same && (wrote || deleted) {
				each(op, change.RV)
			}
		}
	}
}

// newest returns the highest revision that etcd can have reached by a time: writes
// called later have higher ones.
func (o *secondOpinion) newest(time int64) int64 {
	newest := o.h.Truth.Revision
	o.commits(func(op *model.Operation, rv int64) {
		if op.Call > time {
			newest = min(newest, rv-1)
		}
	})
	return newest
}

// told returns the highest revision that anybody had observed before a time, or the
// given client at that time.
func (o *secondOpinion) told(client string, time int64) (highest int64) {
	tell := func(who string, at, rv int64) {
		if (at < time || at == time && who == client && client != "") && rv <= o.newest(at) {
			highest = max(highest, rv)
		}
	}
	o.commits(func(op *model.Operation, rv int64) {
		if op.Err == model.OK && op.Return != model.Pending {
			tell(op.Client, op.Return, rv)
		}
	})
	for _, op := range o.h.Operations {
		if op.Object == nil && op.Kind != model.Delete && op.Err == model.OK && op.Return != model.Pending {
			tell(op.Client, op.Return, op.ResultRV)
		}
	}
	for _, s := range o.h.Streams {
		for _, e := range s.Events {
			tell("", e.Time, e.RV)
		}
	}
	return highest
}

// alone returns the client of an operation, if it never has concurrent operations and
// this one takes time; empty otherwise.
func (o *secondOpinion) alone(op *model.Operation) string {
	for i := range o.h.Operations {
		for j := range o.h.Operations[:i] {
			a, b := &o.h.Operations[i], &o.h.Operations[j]
			if a.Client == op.Client && b.Client == op.Client && (a.Return == model.Pending || a.Return > b.Call) && (b.Return == model.Pending || b.Return > a.Call) {
				return ""
			}
		}
	}
	return op.Client
}

// allows reports whether the stream is as published.
func (o *secondOpinion) allows(s *model.Stream) bool {
	events := s.Events
	failed := slices.IndexFunc(events, func(e model.Event) bool { return e.Type == model.Error })
	if failed >= 0 {
		// "ERROR: Object is a *api.Status", and the last event.
		if e := events[failed]; failed < len(events)-1 || e.InitialEnd || (e.Err == model.OK && e.Message == "") {
			return false
		}
		events = events[:failed]
	}
	for _, e := range events {
		bookmark := e.Type == model.Bookmark
		switch {
		case !bookmark && e.Type != model.Added && e.Type != model.Modified && e.Type != model.Deleted,
			!bookmark && (e.Object == nil || e.Object.RV != e.RV || e.InitialEnd),
			bookmark && (!s.Bookmarks || e.RV < 1),
			e.RV > o.newest(e.Time):
			return false
		}
	}
	open := s.Closed == model.Pending && failed < 0
	synthetic := s.InitialEvents || s.RV <= 0
	if !synthetic {
		return o.follows(s, events, s.RV, open)
	}
	if failed == 0 {
		return true // refused
	}
	oldest := int64(0)
	if s.InitialEvents {
		if oldest = s.RV; s.RV == model.RVUnset {
			oldest = o.told("", s.Call)
		}
	}
	if len(events) == 0 && !open {
		return true // nothing has arrived yet
	}
	for rv := oldest; rv <= max(oldest, o.h.Truth.Revision); rv++ {
		if o.begins(s, events, rv, open) {
			return true
		}
	}
	return false
}

// begins reports whether the stream can have begun with the state at a revision.
func (o *secondOpinion) begins(s *model.Stream, events []model.Event, rv int64, open bool) bool {
	block := map[string]bool{}
	for _, object := range o.selected(s.Scope, s.Selector, rv) {
		block[text(model.Added, object)] = true
	}
	size, seen := len(block), 0
	for seen < len(events) && seen < size && events[seen].Type != model.Bookmark {
		line := text(events[seen].Type, *events[seen].Object)
		if !block[line] {
			return false
		}
		delete(block, line) // each once
		seen++
	}
	mustMark, mayMark := s.InitialEvents && s.Bookmarks, s.Bookmarks
	// What has to end with a mark was there before the first of it came.
	tooNew := mustMark && slices.ContainsFunc(events, func(e model.Event) bool { return e.RV > o.newest(events[0].Time) })
	switch {
	case seen < size:
		return seen == len(events) && !open && !tooNew // cut off
	case mayMark && seen < len(events) && events[seen].InitialEnd:
		return events[seen].RV >= rv && o.follows(s, events[seen+1:], events[seen].RV, open) &&
			!slices.ContainsFunc(o.expected(s, rv), func(l line) bool { return l.rv <= events[seen].RV })
	case mustMark:
		return seen == len(events) && !open && !tooNew
	}
	// The state existed by the time that the last of it arrived, if anything had to be
	// sent at all.
	last := o.h.Truth.Revision
	if seen > 0 {
		last = o.newest(events[seen-1].Time)
	} else if len(events) > 0 {
		last = o.newest(events[0].Time)
	}
	if rv > last {
		return seen == len(events) && !open
	}
	return o.follows(s, events[seen:], rv, open)
}

// follows judges the events after a revision: ordered, unique, reliable and
// bookmarkable, and complete if the stream was open at the end.
func (o *secondOpinion) follows(s *model.Stream, events []model.Event, after int64, open bool) bool {
	expected := o.expected(s, after)
	sent, position := 0, after
	for _, e := range events {
		if e.RV < position || e.InitialEnd {
			return false // ordered
		}
		if e.Type == model.Bookmark {
			if sent < len(expected) && expected[sent].rv <= e.RV {
				return false // bookmarkable
			}
			position = e.RV
			continue
		}
		if sent == len(expected) || text(e.Type, *e.Object) != expected[sent].text {
			return false // unique, reliable
		}
		position = e.RV
		sent++
	}
	return !open || sent == len(expected)
}

// allowsList reports whether a list without pages conforms to Kubernetes' table of
// resourceVersion and resourceVersionMatch.
func (o *secondOpinion) allowsList(op *model.Operation) bool {
	if op.ResultRV < 1 || op.ResultRV > o.newest(op.Return) {
		return false
	}
	want := map[string]bool{}
	for _, object := range o.selected(op.Scope, op.Selector, op.ResultRV) {
		want[text("", object)] = true
	}
	for _, object := range op.Objects {
		if !want[text("", object)] {
			return false
		}
		delete(want, text("", object))
	}
	switch {
	case len(want) > 0:
		return false
	case op.RV == model.RVUnset: // "Most Recent"
		return op.ResultRV >= o.told(o.alone(op), op.Call)
	case op.Match == model.MatchExact: // "Exact"
		return op.ResultRV == op.RV
	}
	return op.ResultRV >= op.RV // "Any", "Not older than"
}
