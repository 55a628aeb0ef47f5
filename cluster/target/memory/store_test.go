package memory

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
)

// fixture returns a store with revisions 2 (create a), 3 (create b), 4 (a changes from
// web to api), 5 (delete b).
func fixture(t *testing.T) (*Store, target.API) {
	t.Helper()
	store := New()
	api := store.API(nil)
	do := func(kind model.Kind, name, app string) {
		op := model.Operation{Kind: kind, Scope: model.Scope{Namespace: "red", Name: name}}
		if kind != model.Delete {
			op.Object = &model.Object{Namespace: "red", Name: name, Value: name + app, Labels: map[string]string{"app": app}}
		}
		api.Do(t.Context(), &op, "")
		require.Equal(t, model.OK, op.Err)
	}
	do(model.Create, "a", "web")
	do(model.Create, "b", "web")
	do(model.Update, "a", "api")
	do(model.Delete, "b", "")
	return store, api
}

func TestWritesThatMustFailChangeNothing(t *testing.T) {
	store, api := fixture(t)
	for name, row := range map[string]struct {
		op   model.Operation
		want model.Code
	}{
		"create of what exists":  {model.Operation{Kind: model.Create, Scope: model.Scope{Namespace: "red", Name: "a"}, Object: &model.Object{}}, model.AlreadyExists},
		"update of what is gone": {model.Operation{Kind: model.Update, Scope: model.Scope{Namespace: "red", Name: "b"}, Object: &model.Object{}}, model.NotFound},
		"delete of what is gone": {model.Operation{Kind: model.Delete, Scope: model.Scope{Namespace: "red", Name: "b"}}, model.NotFound},
		"stale update":           {model.Operation{Kind: model.Update, Scope: model.Scope{Namespace: "red", Name: "a"}, Object: &model.Object{}, Precondition: 2}, model.Conflict},
		"stale delete":           {model.Operation{Kind: model.Delete, Scope: model.Scope{Namespace: "red", Name: "a"}, Precondition: 2}, model.Conflict},
	} {
		api.Do(t.Context(), &row.op, "")
		require.Equal(t, row.want, row.op.Err, name)
	}
	require.Equal(t, int64(5), store.Truth().Revision)
}

func TestListsAtEveryKindOfRV(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, api := fixture(t)
		store.Compact(3)
		for name, row := range map[string]struct {
			rv    int64
			match model.Match
			limit int64
			name  string
			want  model.Code
			at    int64
			names string
		}{
			"most recent":        {rv: model.RVUnset, at: 5, names: "a"},
			"any":                {rv: 0, at: 5, names: "a"},
			"not older":          {rv: 3, match: model.MatchNotOlderThan, at: 5, names: "a"},
			"exact":              {rv: 4, match: model.MatchExact, at: 4, names: "ab"},
			"exact, compaction":  {rv: 3, match: model.MatchExact, at: 3, names: "ab"},
			"exact, by limit":    {rv: 4, limit: 1, at: 4, names: "a"},
			"one, with a limit":  {rv: 4, limit: 1, name: "b", at: 5},
			"exact, expired":     {rv: 2, match: model.MatchExact, want: model.Expired},
			"exact, future":      {rv: 6, match: model.MatchExact, want: model.TooLarge},
			"not older, future":  {rv: 6, match: model.MatchNotOlderThan, want: model.TooLarge},
			"not older, expired": {rv: 2, match: model.MatchNotOlderThan, at: 5, names: "a"},
		} {
			op := model.Operation{
				Kind: model.List, RV: row.rv, Match: row.match, Limit: row.limit,
				Scope: model.Scope{Namespace: "red", Name: row.name},
			}
			api.Do(t.Context(), &op, "")
			require.Equal(t, row.want, op.Err, name)
			require.Equal(t, row.at, op.ResultRV, name)
			var names string
			for _, object := range op.Objects {
				names += object.Name
			}
			require.Equal(t, row.names, names, name)
		}
	})
}

func TestCompactionsOnlyGoForward(t *testing.T) {
	store, _ := fixture(t)
	for _, rv := range []int64{3, 2, 3, 99, 5} {
		store.Compact(rv)
	}
	var revisions []int64
	for _, compaction := range store.Truth().Compactions {
		revisions = append(revisions, compaction.RV)
	}
	require.Equal(t, []int64{3, 5}, revisions, "99 lies beyond the current revision, which is 5")
}

func TestPagesAreOneRVAndExpire(t *testing.T) {
	store, api := fixture(t)
	first := model.Operation{Kind: model.List, RV: 4, Match: model.MatchExact, Limit: 1}
	token := api.Do(t.Context(), &first, "")
	require.True(t, first.HasMore)
	require.Equal(t, int64(1), first.Remaining)
	second := model.Operation{Kind: model.List, RV: model.RVUnset, Limit: 1}
	require.Empty(t, api.Do(t.Context(), &second, token))
	require.Equal(t, int64(4), second.ResultRV)
	require.Equal(t, "b", second.Objects[0].Name)
	require.Equal(t, int64(-1), second.Remaining)
	store.Compact(5)
	second = model.Operation{Kind: model.List, RV: model.RVUnset, Limit: 1}
	api.Do(t.Context(), &second, token)
	require.Equal(t, model.Expired, second.Err)
	api.Do(t.Context(), &second, "nonsense")
	require.Equal(t, model.Invalid, second.Err)
}

// take reads events until the stream is idle.
func take(ctx context.Context, api target.API, request model.Stream) (events []model.Event, code model.Code) {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	stream := api.Watch(ctx, &request)
	if stream == nil {
		return nil, request.Err
	}
	for {
		event, _, ok := stream.Next()
		if !ok {
			return events, ""
		}
		events = append(events, event)
	}
}

func TestWatchesSendTheTransitionsOfTheirSelector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, api := fixture(t)
		web := model.Selector{Labels: map[string]string{"app": "web"}}
		type brief struct {
			kind  model.EventType
			rv    int64
			value string
		}
		for name, row := range map[string]struct {
			request model.Stream
			want    []brief
			code    model.Code
		}{
			"from 1": {model.Stream{RV: 1}, []brief{
				{model.Added, 2, "aweb"}, {model.Added, 3, "bweb"}, {model.Modified, 4, "aapi"}, {model.Deleted, 5, "bweb"},
			}, model.OK},
			"selector": {model.Stream{RV: 1, Selector: web}, []brief{
				{model.Added, 2, "aweb"}, {model.Added, 3, "bweb"}, {model.Deleted, 4, "aweb"}, {model.Deleted, 5, "bweb"},
			}, model.OK},
			"never matched":     {model.Stream{RV: 1, Selector: model.Selector{Node: "node-9"}}, nil, model.OK},
			"state first":       {model.Stream{RV: model.RVUnset}, []brief{{model.Added, 4, "aapi"}}, model.OK},
			"state and its end": {model.Stream{RV: 0, InitialEvents: true, Bookmarks: true}, []brief{{model.Added, 4, "aapi"}, {model.Bookmark, 5, ""}}, model.OK},
			"future":            {model.Stream{RV: 6}, nil, model.TooLarge},
		} {
			ctx := t.Context()
			store.FutureWait = 100 * time.Millisecond
			events, code := take(ctx, api, row.request)
			require.Equal(t, row.code, code, name)
			var got []brief
			for _, event := range events {
				seen := brief{kind: event.Type, rv: event.RV}
				if event.Object != nil {
					seen.value = event.Object.Value
					require.Equal(t, event.RV, event.Object.RV, name)
				}
				got = append(got, seen)
			}
			require.Equal(t, row.want, got, name)
		}
	})
}

func TestWatchesStartFromWhatTheCacheHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, api := fixture(t)
		for _, row := range []struct {
			name    string
			disturb func()
			oldest  int64
		}{
			{"a compaction goes unnoticed", func() { store.Compact(5) }, 1},
			{"the window holds two changes", func() { store.Window = 2 }, 3},
			{"a break leaves the cache as it is", store.BreakStreams, 3},
			{"the cache reinitialises", store.Reinitialise, 5},
		} {
			row.disturb()
			for rv := int64(1); rv <= 5; rv++ {
				want := model.OK
				if rv < row.oldest {
					want = model.Expired
				}
				_, code := take(t.Context(), api, model.Stream{RV: rv})
				require.Equal(t, want, code, "%s: from %d", row.name, rv)
			}
		}
	})
}

func TestAStreamEndsForTheReasonItHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, api := fixture(t)
		open := func() target.Watch { return api.Watch(t.Context(), &model.Stream{RV: 4}) }
		stopped, broken, behind := open(), open(), open()
		stopped.Stop()
		_, reason, ok := stopped.Next()
		require.False(t, ok)
		require.Equal(t, model.ClosedByClient, reason)

		store.Window = 0
		event, _, ok := behind.Next()
		require.True(t, ok)
		require.Equal(t, model.Error, event.Type)
		require.Equal(t, model.Expired, event.Err)
		_, reason, ok = behind.Next()
		require.False(t, ok)
		require.Equal(t, model.ClosedByError, reason)

		store.BreakStreams()
		_, reason, ok = broken.Next()
		require.False(t, ok)
		require.Equal(t, model.ClosedByReset, reason)
	})
}

func TestIdleStreamsGetBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, api := fixture(t)
		began := time.Now()
		stream := api.Watch(t.Context(), &model.Stream{RV: 4, Bookmarks: true, Selector: model.Selector{Node: "none"}})
		defer stream.Stop()
		event, _, ok := stream.Next()
		require.True(t, ok)
		require.Equal(t, model.Event{Type: model.Bookmark, RV: 5}, event)
		require.Equal(t, time.Second, time.Since(began))
	})
}
