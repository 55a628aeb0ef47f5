package conformance

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
)

func testWritesAndReads(t *testing.T, f *fixture) {
	scope := model.Scope{Namespace: "n", Name: "a"}

	want := model.Object{Namespace: "n", Name: "a", Labels: map[string]string{"app": "x"}, Node: "node-1", Value: "1"}
	created := f.create(&want)
	require.Equal(t, "client-1", created.UID)
	want.UID, want.RV = created.UID, created.RV
	require.Equal(t, want, created)
	f.do(model.AlreadyExists, model.Operation{Kind: model.Create, Object: &want})

	for _, rv := range []int64{model.RVUnset, created.RV, created.RV} {
		got := f.do(model.OK, model.Operation{Kind: model.Get, Scope: scope, RV: rv})
		require.Equal(t, []model.Object{created}, got.Objects)
		require.Equal(t, created.RV, got.ResultRV)
		clear(got.Objects[0].Labels) // which must be the answer's own
	}

	unconditional := f.update(object("n", "a", "2"))
	require.Greater(t, unconditional.RV, created.RV)
	require.Equal(t, model.Object{Namespace: "n", Name: "a", Value: "2", UID: created.UID, RV: unconditional.RV}, unconditional)
	f.do(model.Conflict, model.Operation{Kind: model.Update, Object: object("n", "a", "3"), Precondition: created.RV})
	conditional := f.do(model.OK, model.Operation{Kind: model.Update, Object: object("n", "a", "4"), Precondition: unconditional.RV})
	f.do(model.NotFound, model.Operation{Kind: model.Update, Object: object("n", "b", "1")})

	other := object("n", "a", "5")
	other.UID = "someone-else"
	f.do(model.Conflict, model.Operation{Kind: model.Update, Object: other})
	other.UID = created.UID
	updated := f.update(other)

	f.do(model.Conflict, model.Operation{Kind: model.Delete, Scope: scope, Precondition: conditional.ResultRV})
	deleted := f.do(model.OK, model.Operation{Kind: model.Delete, Scope: scope, Precondition: updated.RV})
	require.Greater(t, deleted.ResultRV, updated.RV)
	f.do(model.NotFound, model.Operation{Kind: model.Delete, Scope: scope})
	f.do(model.NotFound, model.Operation{Kind: model.Get, Scope: scope, RV: model.RVUnset})

	truth, err := etcd.Truth(f.target.Etcd(), []etcd.Era{{Dirs: []string{f.dir}}}, f.target.Prefix(), f.target.Decode)
	require.NoError(t, err)
	require.Len(t, truth.Changes, 5)
	require.Equal(t, model.Change{RV: created.RV, Object: created}, truth.Changes[0])
	last := updated
	last.RV = deleted.ResultRV
	require.Equal(t, model.Change{RV: deleted.ResultRV, Deleted: true, Object: last}, truth.Changes[4])
}

func names(op *model.Operation) []string {
	found := []string{}
	for _, object := range op.Objects {
		found = append(found, object.Namespace+"/"+object.Name)
	}
	return found
}

func testListsSelectAndPage(t *testing.T, f *fixture) {
	for _, pod := range []model.Object{
		{Namespace: "m", Name: "a", Value: "1"},
		{Namespace: "n", Name: "a", Value: "1", Labels: map[string]string{"app": "x"}, Node: "node-1"},
		{Namespace: "n", Name: "b", Value: "1", Labels: map[string]string{"app": "y"}, Node: "node-1"},
		{Namespace: "n", Name: "c", Value: "1", Labels: map[string]string{"app": "x"}},
	} {
		f.create(&pod)
	}
	middle := f.member.Revision()
	f.delete("n", "c")
	end := f.member.Revision()

	for name, row := range map[string]struct {
		op   model.Operation
		want []string
		rv   int64
	}{
		"most recent":           {model.Operation{RV: model.RVUnset}, []string{"m/a", "n/a", "n/b"}, end},
		"not older than":        {model.Operation{RV: end, Match: model.MatchNotOlderThan}, []string{"m/a", "n/a", "n/b"}, end},
		"not older, by default": {model.Operation{RV: end}, []string{"m/a", "n/a", "n/b"}, end},
		"exact":                 {model.Operation{RV: middle, Match: model.MatchExact}, []string{"m/a", "n/a", "n/b", "n/c"}, middle},
		"exact, by its limit":   {model.Operation{RV: middle, Limit: 9}, []string{"m/a", "n/a", "n/b", "n/c"}, middle},
		"namespace":             {model.Operation{RV: end, Scope: model.Scope{Namespace: "n"}}, []string{"n/a", "n/b"}, end},
		"name":                  {model.Operation{RV: end, Scope: model.Scope{Namespace: "n", Name: "a"}}, []string{"n/a"}, end},
		"name in any namespace": {model.Operation{RV: end, Scope: model.Scope{Name: "a"}}, []string{"m/a", "n/a"}, end},
		"missing name":          {model.Operation{RV: end, Scope: model.Scope{Namespace: "n", Name: "c"}}, []string{}, end},
		"labels":                {model.Operation{RV: end, Selector: model.Selector{Labels: map[string]string{"app": "x"}}}, []string{"n/a"}, end},
		"node":                  {model.Operation{RV: end, Selector: model.Selector{Node: "node-1"}}, []string{"n/a", "n/b"}, end},
		"both": {model.Operation{RV: end, Selector: model.Selector{Node: "node-1", Labels: map[string]string{"app": "y"}}},
			[]string{"n/b"}, end},
	} {
		row.op.Kind = model.List
		got := f.do(model.OK, row.op)
		require.ElementsMatch(t, row.want, names(got), name)
		require.Equal(t, row.rv, got.ResultRV, name)
		require.False(t, got.HasMore, name)
		require.Equal(t, int64(-1), got.Remaining, name)
	}

	first, token := f.page(model.OK, model.Operation{Kind: model.List, RV: model.RVUnset, Limit: 2}, "")
	require.Equal(t, []string{"m/a", "n/a"}, names(first))
	require.True(t, first.HasMore)
	require.Equal(t, int64(1), first.Remaining)
	f.create(object("m", "b", "1"))
	second, token := f.page(model.OK, model.Operation{Kind: model.List, RV: model.RVUnset, Limit: 2}, token)
	require.Equal(t, []string{"n/b"}, names(second))
	require.Equal(t, first.ResultRV, second.ResultRV)
	require.Empty(t, token)
}

// testDeletionsWithFinalizersAndValidation requires that a deletion checks its preconditions
// wherever they are checked, and whether or not the object has a finalizer.
func testDeletionsWithFinalizersAndValidation(t *testing.T, f *fixture) {
	for _, inValidation := range []bool{false, true} {
		f.server = f.start(target.ServerConfig{Tuning: target.Tuning{InValidation: inValidation}})
		for _, finalizing := range []bool{false, true} {
			created := f.create(object("n", "a", "1"))
			next := object("n", "a", "2")
			if finalizing {
				next.Labels = map[string]string{model.FinalizingLabel: "true"}
			}
			updated := f.update(next)
			scope := model.Scope{Namespace: "n", Name: "a"}
			other := &model.Object{Namespace: "n", Name: "a", UID: created.UID + "-"}
			f.do(model.Conflict, model.Operation{Kind: model.Delete, Scope: scope, Precondition: created.RV})
			f.do(model.Conflict, model.Operation{Kind: model.Delete, Scope: scope, Object: other})
			there := f.do(model.OK, model.Operation{Kind: model.Get, Scope: scope, RV: model.RVUnset})
			require.Equal(t, updated, there.Objects[0])
			f.do(model.OK, model.Operation{Kind: model.Delete, Scope: scope, Precondition: updated.RV, Object: &created})
			f.do(model.NotFound, model.Operation{Kind: model.Get, Scope: scope, RV: model.RVUnset})
		}
	}
}

// testPatches requires that a patch sets labels, and writes nothing if it changes nothing.
func testPatches(t *testing.T, f *fixture) {
	for _, inPlace := range []bool{false, true} {
		f.server = f.start(target.ServerConfig{Tuning: target.Tuning{InPlace: inPlace}})
		created := object("n", "a", "1")
		created.Labels = map[string]string{"app": "a", "tier": "b"}
		last := f.create(created)
		for _, app := range []string{"b", "b", "a", "c"} {
			changes := last.Labels["app"] != app
			got := f.do(model.OK, model.Operation{Kind: model.Get, Touch: true, Patch: map[string]string{"app": app},
				Scope: model.Scope{Namespace: "n", Name: "a"}, RV: model.RVUnset})
			require.Equal(t, changes, got.ResultRV > last.RV, app)
			want := last
			want.RV, want.Labels = got.ResultRV, map[string]string{"app": app, "tier": "b"}
			require.Equal(t, []model.Object{want}, got.Objects)
			last = want
		}
		f.do(model.OK, model.Operation{Kind: model.Delete, Scope: model.Scope{Namespace: "n", Name: "a"}})
	}
}

func testRequestsThatAreRefused(t *testing.T, f *fixture) {
	f.create(object("n", "a", "1"))
	rv := f.update(object("n", "a", "2")).RV

	for name, op := range map[string]model.Operation{
		"match without RV":   {Kind: model.List, RV: model.RVUnset, Match: model.MatchExact},
		"unknown match":      {Kind: model.List, RV: rv, Match: "Newest"},
		"exact zero":         {Kind: model.List, RV: 0, Match: model.MatchExact},
		"negative RV":        {Kind: model.List, RV: -2},
		"no name":            {Kind: model.Get, Scope: model.Scope{Namespace: "n"}},
		"no namespace":       {Kind: model.Get, Scope: model.Scope{Name: "a"}},
		"unknown operation":  {Kind: "patch", Scope: model.Scope{Namespace: "n", Name: "a"}},
		"object has no name": {Kind: model.Create, Object: object("n", "", "1")},
	} {
		got := f.do(model.Invalid, op)
		require.NotEmpty(t, got.Message, name)
	}
	f.page(model.Invalid, model.Operation{Kind: model.List, RV: model.RVUnset, Limit: 1}, "no token")

	f.do(model.TooLarge, model.Operation{Kind: model.List, RV: rv + 1000, Match: model.MatchExact})

	require.NoError(t, f.member.Compact(f.context(), rv))
	f.server = f.start(target.ServerConfig{})
	f.do(model.Expired, model.Operation{Kind: model.List, RV: rv - 1, Match: model.MatchExact})
}

func testAnOperationWhoseContextEndsIsUnknown(t *testing.T, f *fixture) {
	f.member.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	op := &model.Operation{Kind: model.Create, Object: object("n", "a", "1")}
	f.server.Do(ctx, op, "")
	require.Equal(t, model.Unknown, op.Err, op.Message)
}
