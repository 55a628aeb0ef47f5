package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
	"github.com/watchsim/watchsim/traces/timeline"
)

// part returns the history of a resource with one object, which began at a second of the recording: it is created, and a watch delivers it.
func part(resource, began string, namespace string, rv int64, outcome linearizability.Outcome) timeline.Part {
	const ms = 1_000_000
	object := model.Object{Namespace: namespace, Name: "a", RV: rv}
	meant, brought := object, object
	return timeline.Part{
		Name: resource + ".jsonl", Header: traces.Header{Attributes: map[string]string{traces.AttributeResource: resource, traces.AttributeBegan: began}},
		Verdict: linearizability.Verdict{Outcome: outcome},
		History: &model.History{
			Operations: []model.Operation{{ID: 1, Client: "c", Server: "s", Kind: model.Create, Call: 10 * ms, Return: model.Pending, Object: &meant}},
			Streams: []model.Stream{{
				ID: 2, Client: "c", Server: "s", Call: ms, Return: 2 * ms, Closed: model.Pending, Scope: model.Scope{Namespace: namespace},
				Events: []model.Event{{Stream: 2, Time: 20 * ms, Type: model.Added, RV: rv, Object: &brought}},
			}},
			Truth: model.Truth{Changes: []model.Change{{RV: rv, Object: object}}, Revision: rv, Compactions: []model.Compaction{{RV: 1, Time: 5 * ms}}},
			End:   30 * ms,
		},
	}
}

func TestTogether(t *testing.T) {
	page, err := timeline.Together([]timeline.Part{
		part("pods", "1970-01-01T00:00:02.500Z", "red", 7, linearizability.Passed),
		part("nodes", "1970-01-01T00:00:02Z", "", 5, linearizability.Failed),
	})
	require.NoError(t, err)
	h := page.History
	require.NoError(t, traces.Validate(h))
	require.Equal(t, linearizability.Failed, page.Verdict.Outcome)
	require.Equal(t, "nodes: failed", page.Verdict.Reason)
	require.Equal(t, "nodes/a", h.Truth.Changes[0].Object.Key().String(), "in the order of resourceVersions")
	require.Equal(t, "pods/red/a", h.Truth.Changes[1].Object.Key().String())
	require.EqualValues(t, 7, h.Truth.Revision)
	require.Len(t, h.Truth.Compactions, 1)
	require.Equal(t, "pods/red/a", h.Operations[0].Object.Key().String())
	require.EqualValues(t, 510_000_000, h.Operations[0].Call, "half a second later than the first")
	require.Equal(t, model.Pending, h.Operations[0].Return)
	nodes := h.Streams[1]
	require.Equal(t, []int{4, 4, 0}, []int{nodes.ID, nodes.Events[0].Stream, nodes.ResumesList})
	require.Equal(t, "nodes", nodes.Scope.Namespace)
	require.EqualValues(t, 20_000_000, nodes.Events[0].Time)
	require.EqualValues(t, 530_000_000, h.End)

	_, err = timeline.Together([]timeline.Part{part("pods", "", "red", 7, linearizability.Passed), part("pods", "", "red", 7, linearizability.Passed)})
	require.EqualError(t, err, `pods.jsonl: expected a history of one resource, and no other of the same, found resource "pods" in its header; merge those of one resource by simrun import`)
}
