package linearizability_test

import (
	"slices"
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
		{"a lease that expires for two objects", func(truth *model.Truth) { *truth = expiry().Truth }, nil, false},
		{"a deletion at the revision of a lease", func(truth *model.Truth) { *truth = expiry().Truth; truth.Changes[6].Expired = false }, broken, true},
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

// expiry returns a history in which etcd deletes a/y and b/z at 12, as their lease expires, and a stream with events of it.
func expiry(events ...model.Event) *model.History {
	h := closedStream(model.Stream{RV: 9}, events...)
	h.Truth.Changes[5].Expired = true
	gone := h.Truth.Changes[4].Object
	h.Truth.Changes = slices.Insert(h.Truth.Changes, 6, model.Change{RV: 12, Deleted: true, Expired: true, Object: gone})
	return h
}

// TestOneLeaseExpiresForTwoObjects: the events of both have one resourceVersion, and each must arrive once.
func TestOneLeaseExpiresForTwoObjects(t *testing.T) {
	y, z := deleted(12), model.Event{Time: 1012, Type: model.Deleted, RV: 12, Object: objectAt(9)}
	z.Object.RV = 12
	reliable, unique := guarantees{linearizability.Reliable}, guarantees{linearizability.Unique}
	judgeAll(t, []historyRow[*model.History]{
		{"both", expiry(y, z, modified(15)), nil},
		{"the other first", expiry(z, y, modified(15)), reliable}, // etcd tells them in order of their keys
		{"the first only", expiry(y, modified(15)), reliable},
		{"the second only", expiry(z, modified(15)), reliable},
		{"the first twice", expiry(y, z, y, modified(15)), unique},
		{"the second twice", expiry(y, z, z, modified(15)), unique},
	})
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
