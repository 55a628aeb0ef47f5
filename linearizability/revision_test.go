package linearizability_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

func TestRevision(t *testing.T) {
	broken := guarantees{linearizability.Revision}
	for _, row := range []struct {
		name    string
		damage  func(*model.Truth)
		broken  guarantees
		unsound bool
	}{
		{"unchanged", func(*model.Truth) {}, nil, false},
		{"no changes", func(truth *model.Truth) { truth.Changes = nil }, nil, false},
		{"increasing compactions", func(truth *model.Truth) { truth.Compactions = []model.Compaction{{RV: 3}, {RV: 20}} }, nil, false},
		{"a revision twice", func(truth *model.Truth) { truth.Changes[1].RV = 2 }, broken, true},
		{"a revision that decreases", func(truth *model.Truth) { truth.Changes[2].RV = 3 }, broken, true},
		{"a change after the last revision", func(truth *model.Truth) { truth.Revision = 14 }, broken, true},
		{"a compaction that does not increase", func(truth *model.Truth) { truth.Compactions = []model.Compaction{{RV: 5}, {RV: 5}} }, broken, false},
		{"a compaction above the last revision", func(truth *model.Truth) { truth.Compactions = []model.Compaction{{RV: 21}} }, broken, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := closedStream(model.Stream{RV: 2}, added(4))
			row.damage(&h.Truth)
			if len(h.Truth.Changes) == 0 {
				h.Streams = nil
			}
			verdict := judge(t, h, row.broken)
			require.Equal(t, row.unsound, verdict.Reason != "", "only without an order is the rest left unjudged")
		})
	}
}

func TestVacuousHistoriesAreInconclusive(t *testing.T) {
	config := lenient()
	config.Minimum = linearizability.Counts{Writes: 1, Events: 2, Streams: 1}
	h := closedStream(model.Stream{RV: 2}, added(4))
	verdict := linearizability.Check(h, config)
	require.Equal(t, linearizability.Inconclusive, verdict.Outcome)
	require.Equal(t, "expected at least 1 write in the history, found 0; expected at least 2 events in the history, found 1", verdict.Reason)
	require.Empty(t, verdict.Violations)

	h.Streams[0].Events[0].Type = model.Modified
	require.Equal(t, linearizability.Failed, linearizability.Check(h, config).Outcome, "a violation is one however short the history")

	require.Equal(t, linearizability.Inconclusive, linearizability.Check(&model.History{}, linearizability.DefaultConfig()).Outcome)
}
