package linearizability_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// mutatedEvent returns an event whose object has the mark of stream 9.
func mutatedEvent(e model.Event) model.Event {
	return with(e, func(e *model.Event) { e.Object.Labels = map[string]string{"app": model.MutationMark(9)} })
}

func TestMutationsStayWithTheConsumer(t *testing.T) {
	careless := model.Stream{ID: 9, Client: "c9", Server: "s1", RV: 12, Mutates: true, Call: 900, Return: 901, Closed: 3000,
		Events: []model.Event{modified(15)}}
	isolated := linearizability.Isolated
	mark := func(o *model.Object) model.Object {
		o.Value = model.MutationMark(9)
		return *o
	}
	history := func() *model.History {
		h := closedStream(model.Stream{RV: 12}, modified(15))
		h.Streams = append(h.Streams, changed(careless, func(s *model.Stream) { s.Events = slices.Clone(s.Events) }))
		return h
	}
	require.Equal(t, 1, judge(t, history(), nil).Counts.Mutated, "nobody sees it")
	judgeChanges(t, history, []historyRow[func(*model.History)]{
		// A writer may write similar values.
		{"a value that only resembles a mark", func(h *model.History) {
			h.Truth.Changes[0].Object.Value = "scribbled over by stream of thought"
		}, nil},

		{"another stream", func(h *model.History) { h.Streams[0].Events[0] = mutatedEvent(h.Streams[0].Events[0]) },
			guarantees{isolated, linearizability.Faithful}},
		{"the stream itself", func(h *model.History) { h.Streams[1].Events[0] = mutatedEvent(h.Streams[1].Events[0]) },
			guarantees{isolated, linearizability.Faithful}},
		{"a list", func(h *model.History) {
			h.Operations = []model.Operation{{ID: 1, Client: "r", Server: "s1", Kind: model.List, RV: 0, Call: 1, Return: 2, ResultRV: 15, Remaining: -1,
				Objects: []model.Object{mark(objectAt(15)), *objectAt(9)}}}
		}, guarantees{isolated, linearizability.ExactState}},
		{"an informer", func(h *model.History) {
			h.Informers = []model.Informer{{Client: "i", Server: "s1", Objects: []model.Object{mark(objectAt(15)), *objectAt(9)}}}
		}, guarantees{isolated}},
		{"etcd itself", func(h *model.History) { h.Truth.Changes[0].Object.Node = model.MutationMark(9) }, guarantees{isolated}},
	})
}
