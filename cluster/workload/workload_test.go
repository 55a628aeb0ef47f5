package workload

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/memory"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
)

// streams returns the named random streams of one seed.
func streams(seed uint64) func(string) *rand.Rand {
	return func(name string) *rand.Rand {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(name))
		return rand.New(rand.NewPCG(seed, hash.Sum64()))
	}
}

// world returns a store behind two API servers.
func world(store *memory.Store, random func(string) *rand.Rand) Environment {
	return Environment{
		Began:   time.Now(),
		Servers: []string{"apiserver-0", "apiserver-1"},
		Dial: func(client, server string) target.API {
			latency := random("latency/" + client + "/" + server)
			var mu sync.Mutex
			return store.API(func() time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return drawDuration(latency, 2*time.Millisecond)
			})
		},
		Rand:        random,
		Go:          func(_ string, f func()) { go f() },
		NewInformer: newMirror,
	}
}

// started returns a workload that has been started.
func started(t require.TestingT, config Config, environment Environment) *Workload {
	w, err := New(config, environment)
	require.NoError(t, err)
	w.Start()
	return w
}

// window is so small that slow clients fall behind it.
const window = 12

// run executes a whole run over a fresh store. disturb injects faults between start and
// healing and returns them.
func run(t *testing.T, seed uint64, config Config, disturb func(*Workload, *memory.Store) []model.Fault) model.History {
	t.Helper()
	_, history := play(t, seed, config, disturb)
	return history
}

// play is like run, and also returns the clients.
func play(t *testing.T, seed uint64, config Config, disturb func(*Workload, *memory.Store) []model.Fault) (w *Workload, history model.History) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Window = window
		began := time.Now()
		w = started(t, config, world(store, streams(seed)))
		if disturb != nil {
			history.Faults = disturb(w, store)
		}
		time.Sleep(time.Until(began.Add(config.Active())))
		require.NoError(t, w.Heal())
		history.Healed = int64(time.Since(began))
		time.Sleep(config.Quiet)
		history.End = int64(time.Since(began))
		require.NoError(t, w.Stop())
		w.Fill(&history)
		history.Truth = store.Truth()
	})
	return w, history
}

// unrest compacts every few seconds, breaks streams, and makes the cache reinitialise.
func unrest(_ *Workload, store *memory.Store) []model.Fault {
	began := time.Now()
	var faults []model.Fault
	fired := func(name string) {
		now := int64(time.Since(began))
		faults = append(faults, model.Fault{Name: name, Begin: now, End: now})
	}
	for i := range 10 {
		time.Sleep(2 * time.Second)
		store.Compact(store.Truth().Revision)
		time.Sleep(2 * time.Second)
		switch i % 4 {
		case 1:
			store.BreakStreams()
			fired("connections reset")
		case 3:
			store.Reinitialise()
			fired("cache re-initialised")
		}
	}
	return faults
}

func TestARunIssuesEveryKindOfRequest(t *testing.T) {
	seen := map[string]int{}
	note := func(is bool, what string) {
		if is {
			seen[what]++
		}
	}
	var operations int
	const runs = 16
	for seed := range uint64(runs) {
		history := run(t, seed, DefaultConfig(), unrest)
		for _, op := range history.Operations {
			if op.Client[0] == 'w' && op.Client[2] == 'i' || op.Client[0] == 'r' && op.Client[2] == 'a' {
				operations++
			}
			switch {
			case op.Kind == model.List || op.Kind == model.Get:
				read := string(op.Kind)
				switch {
				case op.Continues != 0:
					read += " continued"
				case op.RV == model.RVUnset:
					read += " unset"
				case op.RV == 0:
					read += " zero"
				default:
					read += " n " + string(op.Match)
				}
				if op.Limit > 0 {
					read += " limited"
				}
				seen[read]++
			case op.Precondition != 0:
				seen[string(op.Kind)+" precondition"]++
			default:
				seen[string(op.Kind)]++
			}
			seen[string(op.Kind)+" answered "+string(op.Err)]++
			seen["scope"+shape(op.Scope)]++
			note(op.Continues != 0, "page of "+strings.TrimRight(op.Client, "-0123456789"))
		}
		for _, stream := range history.Streams {
			kind := "watch n"
			switch stream.RV {
			case 0:
				kind = "watch zero"
			case model.RVUnset:
				kind = "watch unset"
			}
			if stream.InitialEvents {
				kind += " initial"
			}
			seen[kind]++
			note(!stream.Bookmarks, "watch without bookmarks")
			note(stream.Selector.Node != "", "watch node")
			note(stream.Selector.Labels != nil, "watch labels")
			seen["watch"+shape(stream.Scope)]++
			seen["watch consumer "+stream.Consumer]++
			seen["watch ended "+string(stream.Reason)+string(stream.Err)]++
			note(stream.ResumesStream != 0, "resumes stream")
			note(stream.ResumesList != 0, "resumes list")
			for _, event := range stream.Events {
				seen[string(event.Type)]++
			}
		}
	}
	for _, kind := range []string{
		"create", "update", "update precondition", "delete", "delete precondition",
		"create answered ", "create answered AlreadyExists", "update answered ", "update answered Conflict",
		"update answered NotFound", "delete answered ", "delete answered Conflict",
		"get unset", "get zero", "get n ", "get answered ", "get answered NotFound",
		"list unset", "list unset limited", "list zero", "list zero limited", "list n Exact", "list n Exact limited",
		"list n NotOlderThan", "list n ", "list continued limited",
		"list answered ", "list answered Expired", "page of reader", "page of reflector", "page of informer",
		"scope all", "scope namespace", "scope name", "watch all", "watch namespace", "watch name",
		"watch unset", "watch zero", "watch n", "watch unset initial", "watch zero initial", "watch n initial",
		"watch without bookmarks", "watch node", "watch labels",
		"watch consumer fast", "watch consumer slow", "watch consumer hiccuping", "watch consumer stalled",
		"watch ended client", "watch ended connection", "watch ended error", "watch ended Expired", "watch ended ",
		"resumes stream", "resumes list",
		"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR",
	} {
		require.Positive(t, seen[kind], "no %q in %d runs; seen: %v", kind, runs, seen)
	}
	require.InDelta(t, DefaultConfig().Operations, operations/runs, 20)
}

func shape(scope model.Scope) string {
	switch {
	case scope.Name != "":
		return " name"
	case scope.Namespace != "":
		return " namespace"
	}
	return " all"
}

// Besides the validity of the history, clients send requests one after another, and each has its result.
func TestRecordedHistoryIsWellFormed(t *testing.T) {
	history := run(t, 7, DefaultConfig(), unrest)
	require.NoError(t, traces.Validate(&history))
	ids, returned := map[int]bool{}, map[string]int64{}
	last := 0
	for _, op := range history.Operations {
		require.Greater(t, op.ID, last, "operations must be in order of ID")
		last, ids[op.ID] = op.ID, true
		require.GreaterOrEqual(t, op.Call, returned[op.Client], "%s has two operations under way", op.Client)
		returned[op.Client] = op.Return
		require.True(t, op.Object == nil || op.Object.RV == 0)
		require.True(t, op.Continues == 0 || ids[op.Continues] && op.RV == model.RVUnset, "a page must continue an earlier list")
	}
	for _, stream := range history.Streams {
		require.False(t, ids[stream.ID], "streams and operations share no ID")
		require.Equal(t, stream.Closed != model.Pending, stream.Reason != "" || stream.Err != model.OK, "%+v", stream)
		require.True(t, stream.ResumesStream == 0 || stream.ResumesList == 0)
	}
}

func TestLastWritesFollowTheHealing(t *testing.T) {
	config := DefaultConfig()
	history := run(t, 11, config, unrest)
	written := map[string]bool{}
	listed := map[string]bool{}
	for _, op := range history.Operations {
		if op.Client == "closer" {
			switch op.Kind {
			case model.Create, model.Update:
				written[op.Scope.Namespace] = written[op.Scope.Namespace] || op.Err == model.OK
			case model.List:
				listed[op.Server] = listed[op.Server] || op.Err == model.OK
			}
			continue
		}
		if op.Kind != model.List && op.Kind != model.Get {
			require.LessOrEqual(t, op.Call, int64(config.Active()), "nobody else writes in the quiet phase")
		}
	}
	require.Len(t, written, len(config.Namespaces))
	require.Len(t, listed, 2)
	for name, ok := range written {
		require.True(t, ok, name)
	}
	last := history.Truth.Changes[len(history.Truth.Changes)-1]
	require.Contains(t, last.Object.Value, "closer-")
}

func TestNobodyWritesOnceWritingIsOver(t *testing.T) {
	config := DefaultConfig()
	config.Writing = config.Active() / 2
	history := run(t, 11, config, nil)
	wrote, read, listed := 0, 0, false
	for _, op := range history.Operations {
		switch op.Kind {
		case model.Create, model.Update, model.Delete:
			wrote++
			// A writer that has just read may still take a moment to write back.
			require.LessOrEqual(t, op.Call, int64(config.Writing+maxModify+config.OperationTimeout), "%s", op.Client)
		default:
			if op.Call > int64(config.Writing) {
				read++
			}
			listed = listed || op.Client == FinalWriter
		}
	}
	require.Positive(t, wrote)
	require.Positive(t, read)
	require.True(t, listed, "the final writer reads, though it has written nothing")
}

func TestInformersAreRecordedAndConverge(t *testing.T) {
	history := run(t, 5, DefaultConfig(), unrest)
	require.Len(t, history.Informers, 1)
	informer := history.Informers[0]
	require.Equal(t, "informer-0", informer.Client)
	require.Equal(t, history.Truth.Revision, informer.LastSyncRV)
	require.Equal(t, stateOf(history.Truth, informer.Scope, model.Selector{}), informer.Objects)
	var lists, pages, resumed int
	for _, op := range history.Operations {
		if op.Client == informer.Client {
			lists++
			if op.Continues != 0 {
				pages++
			}
		}
	}
	for _, stream := range history.Streams {
		if stream.Client == informer.Client {
			require.True(t, stream.ResumesList != 0 || stream.ResumesStream != 0, "%+v", stream)
			if stream.ResumesStream != 0 {
				resumed++
			}
		}
	}
	require.Positive(t, lists)
	require.Positive(t, pages)
	require.Positive(t, resumed)
}

// stateOf returns the final state, in order of key.
func stateOf(truth model.Truth, scope model.Scope, selector model.Selector) (objects []model.Object) {
	for _, object := range model.NewStore(&truth).List(scope, selector, truth.Revision) {
		objects = append(objects, *object)
	}
	return objects
}

func TestStopDoesNotWaitForEverForAClientThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		config := DefaultConfig()
		config.Readers, config.Reflectors, config.Watchers, config.Informers = 0, 0, 0, 0
		environment := world(memory.New(), streams(1))
		environment.Dial = func(string, string) target.API { return hanging{release} }
		w := started(t, config, environment)
		time.Sleep(config.Active())
		require.Error(t, w.Heal())
		require.ErrorContains(t, w.Stop(), "did not end")
		var history model.History
		w.Fill(&history)
		require.NotEmpty(t, history.Operations)
		for _, op := range history.Operations {
			require.Equal(t, model.Pending, op.Return)
		}
		close(release)
	})
}

// hanging is an API that ignores its context.
type hanging struct{ release chan struct{} }

func (h hanging) Do(context.Context, *model.Operation, string) string { <-h.release; return "" }

func (h hanging) Watch(context.Context, *model.Stream) target.Watch { <-h.release; return nil }

func TestAnOperationThatTimesOutIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := DefaultConfig()
		config.Reflectors, config.Watchers, config.Informers = 0, 0, 0
		environment := world(memory.New(), streams(1))
		environment.Dial = func(string, string) target.API {
			return memory.New().API(func() time.Duration { return time.Hour })
		}
		w := started(t, config, environment)
		time.Sleep(config.Active())
		require.ErrorContains(t, w.Heal(), "no write to namespace blue")
		require.NoError(t, w.Stop())
		var history model.History
		w.Fill(&history)
		for _, op := range history.Operations {
			require.Equal(t, model.Unknown, op.Err)
			require.LessOrEqual(t, op.Return-op.Call, int64(config.OperationTimeout))
		}
	})
}

func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		synctest.Test(&testing.T{}, func(*testing.T) {
			config := DefaultConfig()
			w := started(b, config, world(memory.New(), streams(1)))
			time.Sleep(config.Active())
			_ = w.Heal()
			time.Sleep(config.Quiet)
			_ = w.Stop()
		})
	}
}
