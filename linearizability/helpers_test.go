package linearizability_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

type guarantees []*linearizability.Guarantee

// judge checks a history and requires that exactly these guarantees are broken.
func judge(t *testing.T, h *model.History, want guarantees) linearizability.Verdict {
	t.Helper()
	verdict := linearizability.Check(h, lenient())
	see(t, verdict)
	var got, names []string
	for _, violation := range verdict.Violations {
		require.ErrorIs(t, violation, violation.Guarantee)
		got = append(got, violation.Guarantee.Name)
	}
	for _, guarantee := range want {
		names = append(names, guarantee.Name)
	}
	slices.Sort(got)
	slices.Sort(names)
	require.Equal(t, names, slices.Compact(got), "%v", verdict.Violations)
	if len(want) == 0 {
		require.Equal(t, linearizability.Passed, verdict.Outcome, verdict.Reason)
	} else {
		require.Equal(t, linearizability.Failed, verdict.Outcome)
	}
	return verdict
}

// historyRow is a row of a table: the parts of a history, and what it breaks.
type historyRow[T any] struct {
	name   string
	of     T
	broken guarantees
}

// judgeEach judges the histories that rows describe.
func judgeEach[T any](t *testing.T, rows []historyRow[T], history func(T) *model.History) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) { judge(t, history(row.of), row.broken) })
	}
}

// judgeAll judges histories as they are.
func judgeAll(t *testing.T, rows []historyRow[*model.History]) {
	t.Helper()
	judgeEach(t, rows, func(h *model.History) *model.History { return h })
}

// countedRow is a row with how often its history is judged for a guarantee.
type countedRow struct {
	name   string
	of     *model.History
	judged int
	broken guarantees
}

func judgeCounted(t *testing.T, count func(linearizability.Counts) int, rows []countedRow) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) { require.Equal(t, row.judged, count(judge(t, row.of, row.broken).Counts)) })
	}
}

// judgeChanges judges a history after each of some changes.
func judgeChanges(t *testing.T, history func() *model.History, rows []historyRow[func(*model.History)]) {
	t.Helper()
	judgeEach(t, rows, func(change func(*model.History)) *model.History {
		h := history()
		change(h)
		return h
	})
}

// streamRow is a row with the request of a stream that has ended, and its events.
type streamRow struct {
	name    string
	request model.Stream
	events  []model.Event
	broken  guarantees
}

func judgeStreams(t *testing.T, rows []streamRow) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			for _, violation := range judge(t, closedStream(row.request, row.events...), row.broken).Violations {
				require.Equal(t, "c1", violation.Witness.Client)
				require.Equal(t, 4, violation.Witness.Stream.ID)
			}
		})
	}
}

var (
	web = map[string]string{"app": "web"}
	db  = map[string]string{"app": "db"}
)

// shortTruth is the truth of the hand-written histories. The revisions in between
// are of other resources.
func shortTruth() model.Truth {
	return model.Truth{Revision: 20, Changes: []model.Change{
		{RV: 2, Object: model.Object{Namespace: "a", Name: "x", Labels: web, Value: "v2", UID: "u2"}},
		{RV: 4, Object: model.Object{Namespace: "a", Name: "y", Labels: db, Value: "v4", UID: "u4"}},
		{RV: 5, Object: model.Object{Namespace: "a", Name: "x", Labels: web, Value: "v5", UID: "u2"}},
		{RV: 7, Object: model.Object{Namespace: "a", Name: "x", Labels: db, Value: "v7", UID: "u2"}},
		{RV: 9, Object: model.Object{Namespace: "b", Name: "z", Labels: web, Value: "v9", UID: "u9"}},
		{RV: 12, Deleted: true, Object: model.Object{Namespace: "a", Name: "y", Labels: db, Value: "v4", UID: "u4"}},
		{RV: 15, Object: model.Object{Namespace: "a", Name: "x", Labels: web, Value: "v15", UID: "u2"}},
	}}
}

// objectAt returns the object that the change at rv wrote in shortTruth.
func objectAt(rv int64) *model.Object {
	for _, change := range shortTruth().Changes {
		if change.RV == rv {
			object := change.Object
			object.RV = rv
			return &object
		}
	}
	panic("shortTruth has no change at that RV")
}

// event returns a correct event of the given type for the change at rv. For DELETED of
// an object that no longer matches see leave.
func event(kind model.EventType, rv int64) model.Event {
	return model.Event{Time: 1000 + rv, Type: kind, RV: rv, Object: objectAt(rv)}
}

func added(rv int64) model.Event    { return event(model.Added, rv) }
func modified(rv int64) model.Event { return event(model.Modified, rv) }
func deleted(rv int64) model.Event  { return event(model.Deleted, rv) }

// leave returns the DELETED event of an object that no longer matches after the change
// at rv; before is the last change at which it matched.
func leave(before, rv int64) model.Event {
	object := objectAt(before)
	object.RV = rv
	return model.Event{Time: 1000 + rv, Type: model.Deleted, RV: rv, Object: object}
}

func bookmark(rv int64) model.Event {
	return model.Event{Time: 1000 + rv, Type: model.Bookmark, RV: rv}
}

func initialEnd(rv int64) model.Event {
	return model.Event{Time: 1000 + rv, Type: model.Bookmark, RV: rv, InitialEnd: true}
}

func failure(code model.Code) model.Event {
	return model.Event{Time: 2000, Type: model.Error, Err: code, Message: "it failed"}
}

// with returns an event changed in one way.
func with(e model.Event, change func(*model.Event)) model.Event {
	if e.Object != nil {
		object := *e.Object
		e.Object = &object
	}
	change(&e)
	return e
}

// came returns an event that arrived at a time, cameAt several of them.
func came(time int64, e model.Event) model.Event {
	e.Time = time
	return e
}

func cameAt(time int64, events ...model.Event) []model.Event {
	events = slices.Clone(events)
	for i := range events {
		events[i].Time = time
	}
	return events
}

// present returns the streams that are set: a row without one leaves it empty.
func present(streams ...model.Stream) []model.Stream {
	return slices.DeleteFunc(streams, func(s model.Stream) bool { return s.ID == 0 })
}

// changed returns a copy of a record that is changed in one way.
func changed[T any](record T, change func(*T)) T {
	change(&record)
	return record
}

// closedStream returns a stream of client c1 that has ended, so that it is owed nothing
// more.
func closedStream(request model.Stream, events ...model.Event) *model.History {
	request.ID, request.Client, request.Server = 4, "c1", "s1"
	request.Call, request.Return, request.Closed = 900, 901, 3000
	request.Events = events
	for i := range request.Events {
		request.Events[i].Stream = request.ID
	}
	return &model.History{Truth: shortTruth(), Streams: []model.Stream{request}, Healed: 4000, End: 4000}
}
