package workload

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/memory"
	"github.com/watchsim/watchsim/model"
)

// solitary runs a workload in which every client has its own store, so that no client's
// responses depend on another.
func solitary(t *testing.T, config Config, random func(string) *rand.Rand) (history model.History) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		environment := world(nil, random)
		stores := map[string]*memory.Store{}
		environment.Dial = func(client, _ string) target.API {
			if stores[client] == nil {
				stores[client] = memory.New()
				stores[client].BookmarkPeriod = 1003 * time.Millisecond
				for _, name := range config.Names {
					stores[client].API(nil).Do(t.Context(), &model.Operation{
						Kind: model.Create, Scope: model.Scope{Namespace: config.Namespaces[0], Name: name},
						Object: &model.Object{Namespace: config.Namespaces[0], Name: name, Value: "seed-" + name},
					}, "")
				}
			}
			return stores[client].API(nil)
		}
		w := started(t, config, environment)
		time.Sleep(config.Active())
		require.NoError(t, w.Stop())
		w.Fill(&history)
	})
	return history
}

// requestsOf returns what a client requested and when, without the IDs, which all
// clients take from one sequence.
func requestsOf(history *model.History, client string) (requests []any) {
	for _, step := range stepsOf(history, client) {
		if op := step.operation; op != nil {
			requests = append(requests, model.Operation{
				Kind: op.Kind, Server: op.Server, Call: op.Call, Scope: op.Scope, Selector: op.Selector, Object: op.Object,
				Precondition: op.Precondition, RV: op.RV, Match: op.Match, Limit: op.Limit,
			})
		} else {
			requests = append(requests, model.Stream{
				Server: step.stream.Server, Call: step.stream.Call, Scope: step.stream.Scope, Selector: step.stream.Selector,
				RV: step.stream.RV, Bookmarks: step.stream.Bookmarks, InitialEvents: step.stream.InitialEvents,
				Consumer: step.stream.Consumer,
			})
		}
	}
	return requests
}

func TestAClientDependsOnItsOwnStreamAndResponsesAlone(t *testing.T) {
	alone := DefaultConfig()
	alone.Writers, alone.Readers, alone.Reflectors, alone.Watchers, alone.Informers = 1, 1, 1, 1, 0
	alone.Operations = 80
	crowd := alone
	crowd.Writers, crowd.Readers, crowd.Reflectors, crowd.Watchers, crowd.Informers = 4, 4, 4, 4, 2
	crowd.Operations = 320
	for seed := range uint64(5) {
		first, second := solitary(t, alone, streams(seed)), solitary(t, crowd, streams(seed))
		for _, client := range []string{"writer-0", "reader-0", "reflector-0", "watcher-0"} {
			requests := requestsOf(&first, client)
			require.NotEmpty(t, requests)
			require.Equal(t, requests, requestsOf(&second, client), "%s of seed %d", client, seed)
		}
		require.NotEqual(t, requestsOf(&second, "writer-1"), requestsOf(&second, "writer-0"))
	}
}

func TestKnowledgeComesFromResponses(t *testing.T) {
	k := newKnowledge(DefaultConfig().Remember)
	random := streams(1)("knowledge")
	require.Zero(t, k.recent(random))
	require.Zero(t, k.old(random))

	scope, key := model.Scope{Namespace: "red", Name: "a"}, model.Key{Namespace: "red", Name: "a"}
	see := func(kind model.Kind, code model.Code, rv int64, objects ...model.Object) {
		op := &model.Operation{Kind: kind, Scope: scope, Err: code, ResultRV: rv, Objects: objects}
		if kind == model.Create || kind == model.Update {
			op.Object = &model.Object{Namespace: "red", Name: "a"}
		}
		k.seeOperation(op)
	}
	for _, row := range []struct {
		name    string
		see     func()
		exists  bool
		rv      int64
		highest int64
	}{
		{"a create", func() { see(model.Create, model.OK, 5) }, true, 5, 5},
		{"a read", func() { see(model.Get, model.OK, 7, model.Object{RV: 7}) }, true, 7, 7},
		{"an unknown outcome changes nothing", func() { see(model.Update, model.Unknown, 0) }, true, 7, 7},
		{"a conflict", func() { see(model.Update, model.Conflict, 0) }, true, 0, 7},
		{"a list shows only its RV", func() { see(model.List, model.OK, 9, model.Object{RV: 8}) }, true, 0, 9},
		{"a deletion", func() { see(model.Delete, model.OK, 10) }, false, 0, 10},
		{"what exists after all", func() { see(model.Create, model.AlreadyExists, 0) }, true, 0, 10},
		{"what is gone after all", func() { see(model.Get, model.NotFound, 0) }, false, 0, 10},
	} {
		row.see()
		object, exists := k.objects[key]
		require.Equal(t, row.exists, exists, row.name)
		require.Equal(t, row.rv, object.RV, row.name)
		require.Equal(t, row.highest, k.newest(), row.name)
	}

	for rv := range int64(100) {
		k.seeRV(rv)
	}
	require.Len(t, k.rvs, DefaultConfig().Remember)
	require.IsIncreasing(t, k.rvs)
	for range 100 {
		require.GreaterOrEqual(t, k.recent(random), int64(96))
		require.Contains(t, k.rvs, k.old(random))
		require.Greater(t, k.future(random), k.newest())
		require.LessOrEqual(t, k.future(random), k.newest()+maxFuture)
	}
}
