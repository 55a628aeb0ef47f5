package judge

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

func objectAt(name string, rv int64) model.Object {
	return model.Object{Namespace: "default", Name: name, Value: fmt.Sprint(rv), RV: rv}
}

func listOf(id int, server string, call, asked, rv int64) model.Operation {
	return model.Operation{ID: id, Client: "c", Server: server, Kind: model.List, Call: call, Return: call + 1, RV: asked, ResultRV: rv}
}

// threeChanges returns a resource with three changes, at RV 10, 20 and 30; the last is a deletion.
func threeChanges() *model.History {
	return &model.History{
		Truth: model.Truth{Revision: 40, Changes: []model.Change{
			{RV: 10, Object: objectAt("x", 10)}, {RV: 20, Object: objectAt("y", 20)}, {RV: 30, Deleted: true, Object: objectAt("x", 30)},
		}},
		End: 1000,
	}
}

func stalenessIn(h *model.History, server string) Staleness {
	for _, s := range stalenessOf(h) {
		if s.Server == server {
			return s
		}
	}
	return Staleness{}
}

func TestHowStaleAReadIs(t *testing.T) {
	h := threeChanges()
	h.Operations = []model.Operation{
		listOf(1, "a", 10, -1, 10), listOf(2, "b", 20, 0, 10), // nobody knew better
		listOf(3, "a", 30, -1, 35), listOf(4, "b", 50, 0, 12), // two changes behind, known since 31
		listOf(5, "b", 60, -1, 25), listOf(6, "b", 70, 0, 30), // one behind; none, as nothing changed after 30
	}
	a, b := stalenessIn(h, "a"), stalenessIn(h, "b")
	require.Equal(t, Staleness{Server: "a", Reads: 2}, a)
	require.Equal(t, [2]int{4, 2}, [2]int{b.Reads, b.StaleReads})
	require.Equal(t, StaleLook{
		What: "operation 4 of client c (list at RV 0)", Time: 50, RV: 12, Newest: 35, Missed: 2, Age: 50 - 31,
		Seen: "the response of a to operation 3 (list), at RV 35", Allowed: true,
	}, *b.Worst)
	require.Equal(t, StalePeriod{From: 31, To: 60, Fresh: 70, Looks: 2}, *b.Period)
	require.Equal(t, "b: 2 of 4 reads stale, 0 of 0 streams behind at their end. The worst: operation 4 of client c (list at RV 0) returned "+
		"RV 12 at 50, 2 changes behind RV 35, 0s after the response of a to operation 3 (list), at RV 35. The resourceVersion of the request "+
		"allows that. Everything it returned from 31 to 60 was stale, and it was fresh again at 70.",
		b.text(func(t int64) string { return fmt.Sprint(t) }))
}

// TestOnlyWhatIsAskedForCounts proves that a change outside its scope makes no read stale.
func TestOnlyWhatIsAskedForCounts(t *testing.T) {
	for name, row := range map[string]struct {
		read  model.Operation
		stale int
	}{
		"all":                       {listOf(2, "b", 50, 0, 12), 1},
		"another namespace":         {func() model.Operation { op := listOf(2, "b", 50, 0, 12); op.Scope.Namespace = "blue"; return op }(), 0},
		"exactly that RV":           {func() model.Operation { op := listOf(2, "b", 50, 12, 12); op.Match = model.MatchExact; return op }(), 0},
		"called before it was seen": {listOf(2, "b", 30, 0, 12), 0},
		"a get of what was deleted": {model.Operation{ID: 2, Server: "b", Kind: model.Get, Call: 50, Return: 51, RV: 0, Objects: []model.Object{objectAt("x", 10)}}, 1},
		"a get of what was not":     {model.Operation{ID: 2, Server: "b", Kind: model.Get, Call: 50, Return: 51, RV: 0, Objects: []model.Object{objectAt("y", 20)}}, 0},
		"a failed read":             {func() model.Operation { op := listOf(2, "b", 50, 0, 12); op.Err = model.Unknown; return op }(), 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := threeChanges()
			h.Operations = []model.Operation{listOf(1, "a", 30, -1, 35), row.read}
			require.Equal(t, row.stale, stalenessIn(h, "b").StaleReads)
		})
	}
}

func TestStreamsThatStandStill(t *testing.T) {
	x, y, gone := objectAt("x", 10), objectAt("y", 20), objectAt("x", 30)
	event := func(stream int, kind model.EventType, at int64, o *model.Object) model.Event {
		return model.Event{Stream: stream, Type: kind, Time: at, RV: o.RV, Object: o}
	}
	h := threeChanges()
	h.Streams = []model.Stream{
		{ID: 1, Client: "c", Server: "a", Call: 1, Return: 1, RV: 10, Closed: model.Pending,
			Events: []model.Event{event(1, model.Added, 100, &y), event(1, model.Deleted, 200, &gone)}},
		{ID: 2, Client: "c", Server: "b", Call: 1, Return: 1, RV: 0, Closed: model.Pending,
			Events: []model.Event{event(2, model.Added, 2, &x)}},
	}
	require.Equal(t, Staleness{Server: "a", Streams: 1}, stalenessIn(h, "a"))
	b := stalenessIn(h, "b")
	require.Equal(t, [4]int{1, 0, 1, 1}, [4]int{b.Reads, b.StaleReads, b.Streams, b.Behind})
	require.Equal(t, "stream 2 of client c (from RV 0)", b.Worst.What)
	require.Equal(t, [2]int64{int64(b.Worst.Missed), b.Worst.Age}, [2]int64{2, 900})
	require.Equal(t, "ADDED default/y at RV 20 on stream 1 of a", b.Worst.Seen)
	require.Equal(t, StalePeriod{From: 100, To: 1000, Fresh: -1, Looks: 1}, *b.Period)
	require.Contains(t, b.text(func(t int64) string { return time.Duration(t).String() }),
		"The worst: stream 2 of client c (from RV 0) had reached RV 10 at 1µs, 2 changes behind RV 30")

	h.Operations = []model.Operation{listOf(1, "b", 300, 0, 30)}
	require.EqualValues(t, 300, stalenessIn(h, "b").Period.From, "it was fresh until then")
	for _, change := range []func(*model.Stream){
		func(s *model.Stream) { s.Consumer = "stalled" },
		func(s *model.Stream) { s.Err = model.Expired },
		func(s *model.Stream) { s.Events[0] = model.Event{Type: model.Error, Err: model.Expired} },
	} {
		before, event := h.Streams[1], h.Streams[1].Events[0]
		change(&h.Streams[1])
		require.Zero(t, stalenessIn(h, "b").Streams)
		h.Streams[1] = before
		h.Streams[1].Events[0] = event
	}
	h.Streams[1].Return, h.Streams[1].Events[0].Time = h.End, h.End // recorded without times
	require.Zero(t, stalenessIn(h, "b").Streams)
	h.Truth = model.Truth{}
	require.Empty(t, stalenessOf(h))
}

func TestDemand(t *testing.T) {
	v := Verdict{Outcome: linearizability.Passed, Stale: []Staleness{
		{Server: "a"}, {Server: "b", Worst: &StaleLook{}, Period: &StalePeriod{From: 1e9, To: 4e9, Fresh: -1, Looks: 2}}}}
	v.Demand(3 * time.Second)
	require.Equal(t, Passed, v.Severity(), "not longer than that")
	v.Demand(2 * time.Second)
	require.Equal(t, Failed, v.Severity())
	require.Equal(t, "Fresh: everything that server b returned from 1s to 4s was stale, 2 reads and streams (no server may return only stale states for longer than 2s)",
		v.Violations[0].Text)
	require.Contains(t, v.Report(), "FAILED")
}
