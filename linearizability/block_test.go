package linearizability_test

import (
	"testing"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// The state at RV 10 is a/x at 7, a/y at 4 and b/z at 9.
func TestMarkedInitialBlock(t *testing.T) {
	asked := model.Stream{RV: 0, InitialEvents: true, Bookmarks: true}
	x, y, z := added(7), added(4), added(9)
	initial, end := guarantees{linearizability.Initial}, guarantees{linearizability.InitialEnd}
	judgeStreams(t, []streamRow{
		{"the state, its end, and changes", asked, []model.Event{x, y, z, initialEnd(10), deleted(12), bookmark(14)}, nil},
		{"in any order", asked, []model.Event{z, x, y, initialEnd(10)}, nil},
		{"an empty state", model.Stream{InitialEvents: true, Bookmarks: true, Scope: model.Scope{Namespace: "c"}}, []model.Event{initialEnd(10)}, nil},
		{"cut off", asked, []model.Event{x, y}, nil},
		{"cut off by an error", asked, []model.Event{x, y, failure(model.Unknown)}, nil},
		{"as new as requested", model.Stream{RV: 10, InitialEvents: true, Bookmarks: true}, []model.Event{x, y, z, initialEnd(10)}, nil},
		{"refused", asked, []model.Event{failure(model.Unknown)}, nil},

		{"an object missing", asked, []model.Event{x, z, initialEnd(10)}, initial},
		{"an object deleted before", asked, []model.Event{x, y, z, initialEnd(13)}, initial},
		{"an older state of an object", asked, []model.Event{added(5), y, z, initialEnd(10)}, initial},
		{"a newer state of an object", asked, []model.Event{added(15), y, z, initialEnd(10)}, initial},
		{"MODIFIED", asked, []model.Event{x, modified(4), z, initialEnd(10)}, initial},
		{"older than asked", model.Stream{RV: 11, InitialEvents: true, Bookmarks: true}, []model.Event{x, y, z, initialEnd(10)}, initial},
		{"an object twice", asked, []model.Event{x, y, z, y, initialEnd(10)}, guarantees{linearizability.Unique}},
		{"an object again after the end", asked, []model.Event{x, y, z, initialEnd(10), y}, guarantees{linearizability.Unique}},
		{"another value", asked, []model.Event{x, with(y, func(e *model.Event) { e.Object.Value = "v7" }), z, initialEnd(10)},
			guarantees{linearizability.Faithful}},
		{"no object", asked, []model.Event{x, y, z, with(y, func(e *model.Event) { e.Object = nil }), initialEnd(10)},
			guarantees{linearizability.Faithful}},
		{"out of scope", model.Stream{InitialEvents: true, Bookmarks: true, Scope: model.Scope{Namespace: "a"}},
			[]model.Event{x, y, z, initialEnd(10)}, guarantees{linearizability.Scoped}},
		{"does not match the selector", model.Stream{InitialEvents: true, Bookmarks: true, Selector: model.Selector{Labels: db}},
			[]model.Event{x, y, z, initialEnd(10)}, initial},
		{"the mark too early", asked, []model.Event{x, initialEnd(10), y, z, deleted(12)}, end},
		{"two marks", asked, []model.Event{x, y, z, initialEnd(10), initialEnd(11)}, end},
		{"a bookmark but no mark", asked, []model.Event{x, y, z, bookmark(10)}, end},
		{"changes but no mark", asked, []model.Event{x, y, z, deleted(12)}, end},
		{"a mark ahead of etcd", asked, []model.Event{added(15), z, initialEnd(30)}, end},
		{"a bookmark among the initial events", asked, []model.Event{x, bookmark(10), y, z, initialEnd(10)}, guarantees{linearizability.Bookmarked}},
		{"a gap after the end", asked, []model.Event{x, y, z, initialEnd(10), modified(15)}, guarantees{linearizability.Reliable}},
	})
}

// TestTheMarkThatNeverComes has a third object, which was written before or after the
// first of the initial events arrived.
func TestTheMarkThatNeverComes(t *testing.T) {
	for called, broken := range map[int64]guarantees{1003: nil, 1004: nil, 1005: {linearizability.InitialEnd}} {
		h := closedStream(model.Stream{InitialEvents: true, Bookmarks: true}, added(4), added(7), added(9))
		h.Operations = []model.Operation{{ID: 1, Client: "c2", Kind: model.Create, Object: objectAt(9), Call: called, Return: 2000, ResultRV: 9}}
		judge(t, h, broken)
	}
}

func TestUnmarkedInitialBlock(t *testing.T) {
	any, unset := model.Stream{RV: 0, Bookmarks: true}, model.Stream{RV: model.RVUnset}
	x, y, z := added(7), added(4), added(9)
	initial := guarantees{linearizability.Initial}
	judgeStreams(t, []streamRow{
		{"the state and changes", any, []model.Event{x, y, z, deleted(12), modified(15)}, nil},
		{"RV unset", unset, []model.Event{x, y, z, deleted(12)}, nil},
		{"an old state", any, []model.Event{added(2), added(4), modified(5)}, nil},
		{"no state at all yet", any, []model.Event{added(2), added(4), modified(5), modified(7)}, nil},
		{"creations right after the block", any, []model.Event{x, y, z, deleted(12)}, nil},
		{"a bookmark after the block", any, []model.Event{x, y, z, bookmark(11), deleted(12)}, nil},
		{"cut off", any, []model.Event{x}, nil},
		{"a state after a create and delete", model.Stream{RV: 0, Scope: model.Scope{Name: "y"}}, nil, nil},

		{"cut off before any event, where an older state was empty",
			model.Stream{RV: 10, InitialEvents: true, Scope: model.Scope{Name: "z"}}, nil, nil},

		{"an object missing", any, []model.Event{y, z, deleted(12)}, initial},
		{"states of different times", any, []model.Event{added(2), y, z, deleted(12)}, initial},
		{"MODIFIED", any, []model.Event{x, modified(4), z, deleted(12)}, initial},
		{"another value", any, []model.Event{x, with(y, func(e *model.Event) { e.Object.Value = "v7" }), z, deleted(12)},
			guarantees{linearizability.Faithful}},
		{"cut off, with states of different times", any, []model.Event{added(2), added(9)}, initial},
		{"cut off, with an object twice", any, []model.Event{x, x}, guarantees{linearizability.Unique, linearizability.Initial}},
		{"a gap after a block that a deletion preceded", any, []model.Event{x, z, bookmark(18)},
			guarantees{linearizability.Reliable, linearizability.Bookmarked}},
		{"a gap after the block", any, []model.Event{x, y, z, modified(15)}, guarantees{linearizability.Reliable}},
		{"a bookmark above a missing change", any, []model.Event{x, y, z, bookmark(10), bookmark(13)},
			guarantees{linearizability.Reliable, linearizability.Bookmarked}},
		{"older than asked", model.Stream{RV: 13, InitialEvents: true}, []model.Event{x, y, z, deleted(12)}, initial},
	})
}

func TestInitialEventsAreAsNewAsAcknowledgedWrites(t *testing.T) {
	history := func(rv, returned int64) *model.History {
		h := closedStream(model.Stream{RV: rv, InitialEvents: true, Bookmarks: true}, added(7), added(4), added(9), initialEnd(10))
		h.Operations = []model.Operation{{ID: 1, Client: "c2", Kind: model.Delete, Scope: model.Scope{Namespace: "a", Name: "y"},
			Call: 700, Return: returned, ResultRV: 12}}
		return h
	}
	judgeAll(t, []historyRow[*model.History]{
		{"the write returned before", history(model.RVUnset, 800), guarantees{linearizability.Initial}},
		{"the write returned at the time of the call", history(model.RVUnset, 900), nil},
		{"any state was requested", history(0, 800), nil},
	})
}
