package model_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

// small returns a store in which x is created at RV 2, y at 4, x changed at 6, y
// deleted at 8 and z created at 10. Only x is labelled web, until RV 6.
func small() *model.Store {
	return model.NewStore(&model.Truth{Revision: 12, Changes: []model.Change{
		{RV: 2, Object: model.Object{Name: "x", Value: "v2", Labels: map[string]string{"app": "web"}}},
		{RV: 4, Object: model.Object{Name: "y", Value: "v4"}},
		{RV: 6, Object: model.Object{Name: "x", Value: "v6"}},
		{RV: 8, Object: model.Object{Name: "y", Value: "v4"}, Deleted: true},
		{RV: 10, Object: model.Object{Name: "z", Value: "v10"}},
	}})
}

// sent returns an event with the object of that name as stored at rv; a deletion
// carries the last state at the RV of the deletion.
func sent(kind model.EventType, name string, rv int64) model.Event {
	stored := small().Object(model.Key{Name: name}, rv)
	if kind == model.Deleted {
		last := *small().Object(model.Key{Name: name}, rv-1)
		last.RV, stored = rv, &last
	}
	return model.Event{Type: kind, RV: rv, Object: stored}
}

func mark(rv int64) model.Event { return model.Event{Type: model.Bookmark, RV: rv, InitialEnd: true} }
func note(rv int64) model.Event { return model.Event{Type: model.Bookmark, RV: rv} }
func failed(code model.Code) model.Event {
	return model.Event{Type: model.Error, Err: code, Message: "it failed"}
}

// follow returns the states that a stream can be in after some events.
func follow(w model.Watch, events []model.Event) []model.StreamState {
	store, states := small(), []model.StreamState{model.Start()}
	for i := range events {
		var next []model.StreamState
		for _, state := range states {
			next = append(next, model.Step(store, w, state, &events[i], 12)...)
		}
		states = next
	}
	return states
}

func TestWhatMayArriveOnAStream(t *testing.T) {
	x2, y4, x6 := sent(model.Added, "x", 2), sent(model.Added, "y", 4), sent(model.Modified, "x", 6)
	y8, z10, x6Now := sent(model.Deleted, "y", 8), sent(model.Added, "z", 10), sent(model.Added, "x", 6)
	web := model.Selector{Labels: map[string]string{"app": "web"}}
	xLeaves := model.Event{Type: model.Deleted, RV: 6, Object: func() *model.Object { o := *x2.Object; o.RV = 6; return &o }()}
	altered := func(e model.Event) model.Event { o := *e.Object; o.Value = "another"; e.Object = &o; return e }

	from := func(rv int64) model.Watch { return model.Watch{RV: rv, Bookmarks: true} }
	plain := model.Watch{RV: 0}
	list := model.Watch{RV: model.RVUnset, InitialEvents: true, Bookmarks: true, Committed: 5}

	for _, row := range []struct {
		name    string
		watch   model.Watch
		events  []model.Event
		allowed bool
	}{
		{"changes after the requested RV, in order", from(2), []model.Event{y4, x6, y8, z10}, true},
		{"bookmarks where everything up to them has arrived", from(2), []model.Event{note(2), note(3), y4, note(4), note(5), x6}, true},
		{"an object that no longer matches", model.Watch{RV: 1, Selector: web}, []model.Event{x2, xLeaves}, true},
		{"part of the scope", model.Watch{RV: 1, Scope: model.Scope{Name: "y"}}, []model.Event{y4, y8}, true},
		{"a failure at the end", from(2), []model.Event{y4, failed(model.Unknown)}, true},
		{"a start in the future", from(100), nil, true},
		{"the state, then its changes", plain, []model.Event{x6Now, y4, y8, z10}, true},
		{"the state in another order", plain, []model.Event{y4, x6Now, y8}, true},
		{"an old state, brought up to date", plain, []model.Event{x2, y4, x6, y8}, true},
		{"no state yet", plain, []model.Event{x2, y4, x6}, true},
		{"part of a state, then a failure", plain, []model.Event{x6Now, failed(model.Unknown)}, true},
		{"the state and its mark", list, []model.Event{x6Now, y4, mark(7), y8}, true},
		{"a mark later than the state, with nothing between", list, []model.Event{z10, x6Now, mark(12)}, true},

		{"a gap", from(2), []model.Event{x6}, false},
		{"two changes swapped", from(2), []model.Event{x6, y4}, false},
		{"a change twice", from(2), []model.Event{y4, y4}, false},
		{"a change at the start", from(2), []model.Event{x2}, false},
		{"the wrong type", from(4), []model.Event{x6Now}, false},
		{"the wrong object", from(2), []model.Event{altered(y4)}, false},
		{"an RV that is not the object's", from(2), []model.Event{{Type: model.Added, RV: 5, Object: y4.Object}}, false},
		{"no object", from(2), []model.Event{{Type: model.Added, RV: 4}}, false},
		{"an unknown type", from(2), []model.Event{{Type: "CHANGED", RV: 4, Object: y4.Object}}, false},
		{"the new state of an object that no longer matches", model.Watch{RV: 1, Selector: web}, []model.Event{x2, x6}, false},
		{"an object that never matched", model.Watch{RV: 2, Selector: web}, []model.Event{y4}, false},
		{"another name", model.Watch{RV: 1, Scope: model.Scope{Name: "y"}}, []model.Event{x2}, false},
		{"a bookmark before a change it covers", from(2), []model.Event{note(4)}, false},
		{"a bookmark that goes back", from(2), []model.Event{y4, note(3)}, false},
		{"a bookmark from the future", from(10), []model.Event{note(13)}, false},
		{"a bookmark that was not requested", model.Watch{RV: 10}, []model.Event{note(11)}, false},
		{"a bookmark at no RV", model.Watch{Scope: model.Scope{Name: "none"}, Bookmarks: true}, []model.Event{note(0)}, false},
		{"a mark without initial events", from(2), []model.Event{mark(2)}, false},
		{"anything after a failure", from(2), []model.Event{failed(model.Unknown), y4}, false},
		{"a failure without a status", from(2), []model.Event{{Type: model.Error}}, false},
		{"410 for etcd's own revision", from(12), []model.Event{failed(model.Expired)}, false},
		{"too large, for any RV", plain, []model.Event{failed(model.TooLarge)}, false},
		{"states of different times", plain, []model.Event{x2, y4, z10}, false},
		{"an object twice in the initial events", plain, []model.Event{x6Now, x6Now}, false},
		{"MODIFIED among the initial events", plain, []model.Event{sent(model.Modified, "x", 6), y4}, false},
		{"another name among the initial events", model.Watch{Scope: model.Scope{Name: "y"}}, []model.Event{x6Now}, false},
		{"an object that does not match among the initial events", model.Watch{Selector: web}, []model.Event{y4}, false},
		{"half a state, then a change", plain, []model.Event{x6Now, y8}, false},
		{"half a state and its mark", list, []model.Event{x6Now, mark(7)}, false},
		{"a state older than what was committed", list, []model.Event{x2, y4, mark(4)}, false},
		{"a change before the mark", list, []model.Event{x6Now, y4, y8, mark(8)}, false},
		{"a change instead of the mark", list, []model.Event{x6Now, y4, y8}, false},
		{"a bookmark instead of the mark", list, []model.Event{x6Now, y4, note(7)}, false},
		{"two marks", list, []model.Event{x6Now, y4, mark(7), mark(7)}, false},
		{"a mark above a missing change", list, []model.Event{x6Now, y4, mark(8)}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Equal(t, row.allowed, len(follow(row.watch, row.events)) > 0)
		})
	}
}

func TestNothingArrivesBeforeItIsCommitted(t *testing.T) {
	y4, mark4 := sent(model.Added, "y", 4), mark(4)
	require.NotEmpty(t, model.Step(small(), model.Watch{RV: 2}, model.Start(), &y4, 4))
	require.Empty(t, model.Step(small(), model.Watch{RV: 2}, model.Start(), &y4, 3))
	other := model.Watch{InitialEvents: true, Bookmarks: true, Scope: model.Scope{Name: "none"}}
	require.NotEmpty(t, model.Step(small(), other, model.Start(), &mark4, 4))
	require.Empty(t, model.Step(small(), other, model.Start(), &mark4, 3))
}

// TestABlockIsNotOfTheFuture has a block that is the state from RV 8 on, when etcd
// was at 7 at most.
func TestABlockIsNotOfTheFuture(t *testing.T) {
	x6 := sent(model.Added, "x", 6)
	for _, state := range model.Step(small(), model.Watch{}, model.Start(), &x6, 7) {
		require.Equal(t, model.InBlock, state.Stage)
	}
	require.Contains(t, model.Step(small(), model.Watch{}, model.Start(), &x6, 8), model.StreamState{Stage: model.Live, RV: 8})
}

// TestTheRVOfABlockIsOpenUntilItShows follows the only nondeterminism.
func TestTheRVOfABlockIsOpenUntilItShows(t *testing.T) {
	y4, y8, x6 := sent(model.Added, "y", 4), sent(model.Deleted, "y", 8), sent(model.Added, "x", 6)
	rvs := func(events ...model.Event) (rvs []int64) {
		for _, state := range follow(model.Watch{}, events) {
			rvs = append(rvs, state.RV)
		}
		return rvs
	}
	require.Equal(t, []int64{4, 6}, rvs(y4), "y is there from 4 on, until it goes at 8")
	require.Equal(t, []int64{6, 6}, rvs(y4, x6), "x is as it was from 6 on; the block may be over or not")
	require.Equal(t, []int64{8}, rvs(y4, x6, y8))
}

func TestACompleteStreamHasEverything(t *testing.T) {
	z10 := sent(model.Added, "z", 10)
	for _, row := range []struct {
		name     string
		watch    model.Watch
		events   []model.Event
		complete bool
	}{
		{"up to the last change", model.Watch{RV: 8}, []model.Event{z10}, true},
		{"not the last change", model.Watch{RV: 8}, nil, false},
		{"after the last change", model.Watch{RV: 11}, nil, true},
		{"a failure", model.Watch{RV: 8}, []model.Event{failed(model.Unknown)}, true},
		{"an empty state", model.Watch{Scope: model.Scope{Name: "y"}}, nil, true},
		{"an empty state without its mark", model.Watch{Scope: model.Scope{Name: "y"}, InitialEvents: true, Bookmarks: true}, nil, false},
		{"an empty state at a future RV", model.Watch{Scope: model.Scope{Name: "y"}, InitialEvents: true, RV: 13}, nil, false},
		{"half of the initial events", model.Watch{}, []model.Event{z10}, false},
		{"the initial events", model.Watch{}, []model.Event{z10, sent(model.Added, "x", 6)}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			complete := false
			for _, state := range follow(row.watch, row.events) {
				complete = complete || model.Complete(small(), row.watch, state, 12)
			}
			require.Equal(t, row.complete, complete)
		})
	}
}

// TestAStreamResumesAnywhere has a client whose stream breaks after any number of
// events, and which receives the rest on another from the last RV it has seen.
func TestAStreamResumesAnywhere(t *testing.T) {
	all := []model.Event{sent(model.Added, "x", 2), sent(model.Added, "y", 4), note(5), sent(model.Modified, "x", 6),
		sent(model.Deleted, "y", 8), note(9), sent(model.Added, "z", 10), note(12)}
	for i := range all {
		resumed := model.Watch{RV: all[i].RV, Bookmarks: true}
		states := follow(resumed, all[i+1:])
		require.Len(t, states, 1, "from %d", all[i].RV)
		require.True(t, model.Complete(small(), resumed, states[0], 12))
	}
}

func TestScopeNarrowsByNamespaceAndName(t *testing.T) {
	key := model.Key{Namespace: "a", Name: "x"}
	require.True(t, model.Scope{}.Contains(key))
	require.True(t, model.Scope{Namespace: "a", Name: "x"}.Contains(key))
	require.False(t, model.Scope{Namespace: "a", Name: "y"}.Contains(key))
	require.False(t, model.Scope{Namespace: "b"}.Contains(key))
	require.False(t, model.Scope{Namespace: "a-"}.Contains(key))
}

func TestSelectorIsAConjunction(t *testing.T) {
	object := &model.Object{Labels: map[string]string{"app": "web", "tier": ""}, Node: "n1"}
	require.True(t, model.Selector{}.Matches(object))
	require.True(t, model.Selector{Labels: map[string]string{"app": "web"}, Node: "n1"}.Matches(object))
	require.False(t, model.Selector{Labels: map[string]string{"app": "web"}, Node: "n2"}.Matches(object))
	require.True(t, model.Selector{Labels: map[string]string{"tier": ""}}.Matches(object))
	require.False(t, model.Selector{Labels: map[string]string{"zone": ""}}.Matches(object), "absent is not empty")
	require.False(t, model.Selector{}.Matches(nil))
}

func TestScribblesAreFoundWhereverTheyAre(t *testing.T) {
	mark := model.MutationMark(17)
	for _, object := range []model.Object{
		{Value: mark}, {Node: mark}, {UID: mark},
		{Labels: map[string]string{"app": "web", "tier": mark}},
		{Labels: map[string]string{"app": mark, "tier": model.MutationMark(18)}},
	} {
		by, found := model.MutatedBy(&object)
		require.True(t, found, "%+v", object)
		require.Equal(t, 17, by, "%+v", object)
	}
	for _, object := range []*model.Object{
		nil, {}, {Value: "writer-1-7", Node: "node-1", Labels: map[string]string{"app": "web"}},
		{Value: "scribbled over by stream"}, {Value: "scribbled over by stream x"},
	} {
		_, found := model.MutatedBy(object)
		require.False(t, found, "%+v", object)
	}
}

func TestScribblingGoesThroughWhatIsShared(t *testing.T) {
	stored := model.Object{Name: "x", Value: "v", Labels: map[string]string{"app": "web"}}
	delivered := stored // the labels are shared
	model.Mutate(&delivered, 3)
	by, found := model.MutatedBy(&delivered)
	require.True(t, found)
	require.Equal(t, 3, by)
	_, found = model.MutatedBy(&stored)
	require.True(t, found, "a shallow copy does not isolate")
	require.Equal(t, "v", stored.Value)
}
