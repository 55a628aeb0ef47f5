package model_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/model"
)

func TestKeysSortAsEtcdSortsTheirBytes(t *testing.T) {
	truth := &model.Truth{}
	for i, name := range []string{"team/x", "team-a/x", "teamb/a", "team/a", "node"} {
		object := model.Object{Name: name}
		if name != "node" {
			object.Namespace, object.Name = name[:len(name)-2], name[len(name)-1:]
		}
		truth.Changes = append(truth.Changes, model.Change{RV: int64(i + 2), Object: object})
	}
	var got []string
	for _, key := range model.NewStore(truth).Keys() {
		got = append(got, key.String())
	}
	require.Equal(t, []string{"node", "team-a/x", "team/a", "team/x", "teamb/a"}, got)
}

func TestCompactionRefusesReadsBelowIt(t *testing.T) {
	require.True(t, model.ReadRefused(9, 10))
	require.False(t, model.ReadRefused(10, 10), "the state at the compaction's revision survives")
}

func TestCompactedByTakesUnknownTimesForPossible(t *testing.T) {
	truth := model.Truth{Compactions: []model.Compaction{{RV: 5, Time: 100}, {RV: 9, Time: 300}}}
	require.EqualValues(t, 0, truth.CompactedBy(99))
	require.EqualValues(t, 5, truth.CompactedBy(100))
	require.EqualValues(t, 9, truth.CompactedBy(1000))
	truth.Compactions[1].Time = model.Pending
	require.EqualValues(t, 9, truth.CompactedBy(0))
}

// truths draws a truth over a few keys, with changing labels and nodes.
func truths(t *rapid.T) *model.Truth {
	truth := &model.Truth{Revision: 1}
	stored := map[model.Key]model.Object{}
	for i := range rapid.IntRange(0, 40).Draw(t, "changes") {
		rv := truth.Revision + rapid.Int64Range(1, 3).Draw(t, "gap")
		truth.Revision = rv
		key := model.Key{
			Namespace: rapid.SampledFrom([]string{"a", "a-b"}).Draw(t, "namespace"),
			Name:      rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name"),
		}
		if last, ok := stored[key]; ok && rapid.Bool().Draw(t, "delete") {
			delete(stored, key)
			truth.Changes = append(truth.Changes, model.Change{RV: rv, Deleted: true, Object: last})
			continue
		}
		object := model.Object{Namespace: key.Namespace, Name: key.Name, Value: fmt.Sprint("v", i)}
		if rapid.Bool().Draw(t, "labelled") {
			object.Labels = map[string]string{"app": "web"}
		}
		object.Node = rapid.SampledFrom([]string{"", "n1"}).Draw(t, "node")
		stored[key] = object
		truth.Changes = append(truth.Changes, model.Change{RV: rv, Object: object})
	}
	return truth
}

// replay returns the state at rv by replaying the changes, as the reference.
func replay(truth *model.Truth, rv int64) map[model.Key]model.Object {
	state := map[model.Key]model.Object{}
	for _, change := range truth.Changes {
		if change.RV > rv {
			break
		}
		if change.Deleted {
			delete(state, change.Object.Key())
			continue
		}
		change.Object.RV = change.RV
		state[change.Object.Key()] = change.Object
	}
	return state
}

func queries(t *rapid.T) (model.Scope, model.Selector) {
	scope := model.Scope{
		Namespace: rapid.SampledFrom([]string{"", "a", "a-b"}).Draw(t, "scope namespace"),
		Name:      rapid.SampledFrom([]string{"", "x"}).Draw(t, "scope name"),
	}
	var selector model.Selector
	if rapid.Bool().Draw(t, "by label") {
		selector.Labels = map[string]string{"app": "web"}
	}
	if rapid.Bool().Draw(t, "by node") {
		selector.Node = "n1"
	}
	return scope, selector
}

func TestListIsTheReplayedStateFiltered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		truth := truths(t)
		store := model.NewStore(truth)
		scope, selector := queries(t)
		rv := rapid.Int64Range(0, truth.Revision+1).Draw(t, "rv")

		want := map[model.Key]model.Object{}
		for key, object := range replay(truth, rv) {
			if scope.Contains(key) && selector.Matches(&object) {
				want[key] = object
			}
		}
		got := map[model.Key]model.Object{}
		last := model.Key{}
		for i, object := range store.List(scope, selector, rv) {
			require.True(t, i == 0 || last.Compare(object.Key()) < 0, "a list is in key order")
			last = object.Key()
			got[last] = *object
		}
		require.Equal(t, want, got)
	})
}

// TestOwedEventsTurnOneStateIntoTheOther proves the defining property of a watch: a
// client that lists at one revision and applies the events it is owed after that has
// the state at the later revision.
func TestOwedEventsTurnOneStateIntoTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		truth := truths(t)
		store := model.NewStore(truth)
		scope, selector := queries(t)
		from := rapid.Int64Range(0, truth.Revision).Draw(t, "from")
		to := rapid.Int64Range(from, truth.Revision).Draw(t, "to")

		state := map[model.Key]*model.Object{}
		for _, object := range store.List(scope, selector, from) {
			state[object.Key()] = object
		}
		last := from
		for _, event := range store.Owed(scope, selector, from, to) {
			require.Greater(t, event.RV, last)
			last = event.RV
			require.Equal(t, event.RV, event.Object.RV)
			require.True(t, selector.Matches(event.Object), "even DELETED carries a state that matched")
			_, present := state[event.Object.Key()]
			require.Equal(t, event.Type != model.Added, present)
			if event.Type == model.Deleted {
				delete(state, event.Object.Key())
			} else {
				state[event.Object.Key()] = event.Object
			}
		}
		require.LessOrEqual(t, last, to)

		want := map[model.Key]*model.Object{}
		for _, object := range store.List(scope, selector, to) {
			want[object.Key()] = object
		}
		require.Equal(t, want, state)
	})
}
