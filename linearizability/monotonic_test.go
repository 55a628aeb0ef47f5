package linearizability_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// seeing returns a stream of a client on a server that delivered the changes at 12
// and 15, at 350 and 360.
func seeing(client, server string, from int64) model.Stream {
	return model.Stream{ID: 20, Client: client, Server: server, Call: 300, Return: 301, RV: from, Closed: 400,
		Events: []model.Event{came(350, deleted(12)), came(360, modified(15))}}
}

// blockAt returns a stream of client c1 whose initial events are the given changes.
func blockAt(s model.Stream, mark int64, changes ...int64) model.Stream {
	s.ID, s.Client, s.Call, s.Return, s.Closed, s.Bookmarks = 21, "c1", 500, 501, 600, mark > 0
	if s.Server == "" {
		s.Server = "s1"
	}
	for _, rv := range changes {
		s.Events = append(s.Events, came(510, added(rv)))
	}
	if mark > 0 {
		s.Events = append(s.Events, came(510, initialEnd(mark)))
	}
	return s
}

// TestWhatAClientIsShownLater has a read of client c1 on server s1, after it has seen
// RV 15 or not.
func TestWhatAClientIsShownLater(t *testing.T) {
	broken := guarantees{linearizability.Monotonic}
	here, elsewhere := seeing("c1", "s1", 11), seeing("c1", "s2", 11)
	// All that matched before RV 15, and a part of what did from then on.
	cut := blockAt(model.Stream{RV: 0, Selector: model.Selector{Labels: web}}, 0, 9)
	uncached := model.Stream{ID: 20, Client: "c1", Server: "s1", Call: 300, Return: 301, RV: model.RVUnset, Closed: 400,
		Events: cameAt(350, added(15), added(9))}
	newest := uncached
	newest.InitialEvents = true
	get := func(rv int64, op model.Operation) model.Operation {
		op.Client, op.Server, op.Kind, op.RV, op.Call, op.Return = "c1", "s1", model.Get, rv, 500, 510
		if op.Scope.Name == "" {
			op.Scope = model.Scope{Namespace: "a", Name: "x"}
		}
		return op
	}
	absent := model.Operation{Err: model.NotFound, Scope: model.Scope{Namespace: "a", Name: "x"}}
	state7 := model.Operation{ResultRV: 7, Objects: []model.Object{*objectAt(7)}}
	state15 := model.Operation{ResultRV: 15, Objects: []model.Object{*objectAt(15)}}
	earlier := listed(model.Operation{RV: model.RVUnset, Call: 300, Return: 310}, 15, 15, 9)
	atOnce := listed(model.Operation{RV: model.RVUnset, Call: 300, Return: 500}, 15, 15, 9)
	written := model.Operation{Client: "c1", Server: "s1", Kind: model.Update, Object: objectAt(15), ResultRV: 15, Call: 300, Return: 310}
	old, none, nothing := listed(model.Operation{RV: 0}, 12, 7, 9), model.Operation{}, model.Stream{}
	for _, row := range []struct {
		name    string
		seen    model.Stream
		before  model.Operation
		read    model.Operation
		block   model.Stream
		travels int
		broken  guarantees
	}{
		{"a list of any state", here, none, listed(model.Operation{RV: 0}, 15, 15, 9), nothing, 0, nil},
		{"exactly an old state, as requested", here, none, listed(model.Operation{RV: 9, Match: model.MatchExact}, 9, 7, 4, 9), nothing, 0, nil},
		{"a watch from an old RV, as requested", here, none, none, blockAt(model.Stream{RV: 15}, 0), 0, nil},
		{"another client had seen more", seeing("c2", "s1", 11), none, old, nothing, 0, nil},
		{"not older than an RV, on a server that lags behind another", elsewhere, none,
			listed(model.Operation{RV: 9, Match: model.MatchNotOlderThan}, 12, 7, 9), nothing, 0, nil},
		{"initial events not older than an RV, on a server that lags behind another", elsewhere, none, none,
			blockAt(model.Stream{RV: 9, InitialEvents: true}, 12, 7, 9), 0, nil},
		{"an object that had not changed since", here, none,
			get(0, model.Operation{Scope: model.Scope{Namespace: "b", Name: "z"}, ResultRV: 9, Objects: []model.Object{*objectAt(9)}}), nothing, 0, nil},
		{"a block that may be the beginning of a newer one", here, none, none, cut, 0, nil},
		{"an older state than a watch that may have bypassed the cache", uncached, none, old, nothing, 1, nil},
		{"an older state from another server", elsewhere, none, old, nothing, 1, nil},
		{"an older block from another server", elsewhere, none, none, blockAt(model.Stream{RV: 0, InitialEvents: true}, 12, 7, 9), 1, nil},
		{"an older object from another server", elsewhere, none, get(0, state7), nothing, 1, nil},
		{"an older state than a read from etcd", nothing, earlier, old, nothing, 1, nil},
		{"an older state than a list that had not returned yet", nothing, atOnce, old, nothing, 0, nil},
		{"an older state than the client's own write: any state is not its own writes", nothing, written, old, nothing, 0, nil},

		{"an older list", here, none, old, nothing, 0, broken},
		{"an older list, but newer than requested", here, none,
			listed(model.Operation{RV: 9, Match: model.MatchNotOlderThan}, 12, 7, 9), nothing, 0, broken},
		{"an older get", here, none, get(0, state7), nothing, 0, broken},
		{"an older get, but newer than requested", here, none, get(7, state7), nothing, 0, broken},
		{"a get that finds nothing after the object was seen", here, none, get(12, absent), nothing, 0,
			guarantees{linearizability.Monotonic, linearizability.NotOlderThan}},
		{"an older block", here, none, none, blockAt(model.Stream{RV: 0, InitialEvents: true}, 12, 7, 9), 0, broken},
		{"the newest list, older than seen elsewhere", elsewhere, none, listed(model.Operation{RV: model.RVUnset}, 12, 7, 9), nothing, 0, guarantees{linearizability.MostRecent}},
		{"the newest list, older than another client saw", seeing("c2", "s2", 11), none, listed(model.Operation{RV: model.RVUnset}, 12, 7, 9), nothing, 0,
			guarantees{linearizability.MostRecent}},
		{"the newest block, older than listed before", nothing, earlier, none,
			blockAt(model.Stream{RV: model.RVUnset, InitialEvents: true}, 12, 7, 9), 0, guarantees{linearizability.Initial}},
		{"the newest get, older than seen elsewhere", elsewhere, none, get(model.RVUnset, state7), nothing, 0, guarantees{linearizability.Linearizable}},
		{"a list older than newest initial events", newest, none, old, nothing, 0, broken},
		{"the newest get, as seen elsewhere", elsewhere, none, get(model.RVUnset, state15), nothing, 0, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := listHistory(row.before, row.read)
			h.Streams = present(row.seen, row.block)
			verdict := judge(t, h, row.broken)
			require.Equal(t, row.travels, verdict.Counts.TimeTravels)
			require.Len(t, verdict.Observations, row.travels)
			for _, observation := range verdict.Observations {
				require.ErrorIs(t, observation, linearizability.TimeTravel)
				require.ErrorContains(t, observation, "TimeTravel: ")
				require.Equal(t, []int64{15}, observation.Witness.RVs)
			}
		})
	}
}

// TestTimeTravelIsToldBriefly has a client that travels in time with each read: all are
// counted, and the first few reported.
func TestTimeTravelIsToldBriefly(t *testing.T) {
	var ops []model.Operation
	for i := range int64(9) {
		op := listed(model.Operation{RV: 0, Call: 500 + i, Return: 501 + i}, 12, 7, 9)
		ops = append(ops, op)
	}
	h := listHistory(ops...)
	h.Streams = []model.Stream{seeing("c1", "s2", 11)}
	verdict := judge(t, h, nil)
	require.Equal(t, 9, verdict.Counts.TimeTravels)
	require.Len(t, verdict.Observations, lenient().ViolationsPerSource)
}

// TestAnInformerNeverGoesBack has an informer that reads at RV 0 after it has had a state.
func TestAnInformerNeverGoesBack(t *testing.T) {
	finished := blockAt(model.Stream{Server: "s2", RV: model.RVUnset, InitialEvents: true}, 15, 9, 15)
	unfinished := finished
	unfinished.Events = finished.Events[:len(finished.Events)-1]
	history := func(informer string, seen model.Stream) *model.History {
		h := listHistory(listed(model.Operation{RV: 0, Call: 650, Return: 700}, 12, 7, 9))
		h.Streams = []model.Stream{seen}
		h.Informers = []model.Informer{{Client: informer, Server: "s1"}}
		return h
	}
	judgeAll(t, []historyRow[*model.History]{
		{"an informer", history("c1", finished), guarantees{linearizability.Monotonic}},
		{"another client", history("c2", finished), nil},
		{"an informer whose block was cut off", history("c1", unfinished), nil},
	})
}

// TestSightsBetweenTwoChanges has a read while a stream delivers the changes at 12 and 15, at
// 350 and 360, and one after it.
func TestSightsBetweenTwoChanges(t *testing.T) {
	monotonic := guarantees{linearizability.Monotonic}
	called := func(time int64) model.Operation { return model.Operation{RV: 0, Call: time, Return: 700} }
	judgeEach(t, []historyRow[model.Operation]{
		{"as the first arrives", listed(called(350), 12, 7, 9), nil},
		{"before the second", listed(called(359), 12, 7, 9), nil},
		{"as the second arrives", listed(called(360), 12, 7, 9), nil},
		{"after the second", listed(called(361), 12, 7, 9), monotonic},
		{"a state from before the first", listed(called(355), 9, 7, 4, 9), monotonic},
	}, func(op model.Operation) *model.History {
		h := listHistory(op, listed(called(600), 15, 15, 9))
		h.Streams = []model.Stream{seeing("c1", "s1", 11)}
		return h
	})
}
