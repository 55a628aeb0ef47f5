package timeline

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// TestMarksPointToTheirPlaces follows one violation from the witness to the page.
func TestMarksPointToTheirPlaces(t *testing.T) {
	page := judged(t, broken(t))
	require.Equal(t, linearizability.Failed, page.Verdict.Outcome)
	d := build(&page)
	require.Len(t, d.Marks, 2)
	require.False(t, d.Marks[1].Breaks)
	require.Equal(t, "TimeTravel", d.Marks[1].Name)
	mark := d.Marks[0]
	rv := func(rank int) string { return d.Versions[rank] }
	require.True(t, mark.Breaks)
	require.Equal(t, "Reliable", mark.Name)
	require.Equal(t, 1, mark.Stream)
	require.EqualValues(t, "watcher-1", mark.Client)
	require.EqualValues(t, "apiserver-1", mark.Server)
	require.Contains(t, []string{"32", "33"}, rv(mark.At))
	require.Equal(t, 32.0021, mark.Time)
	require.NotEmpty(t, mark.Explanation)
	// The event at fault is the one that came in its place: those of the first
	// stream, 60 changes and a bookmark, come before.
	require.Equal(t, list[int]{61 + 30}, mark.Events)

	require.Len(t, d.Owed, 1)
	require.Equal(t, 1, d.Owed[0].Stream)
	require.Len(t, d.Owed[0].Versions, 60)
	require.Equal(t, "32", rv(d.Owed[0].Versions[30]))
	require.Equal(t, model.Modified, d.Owed[0].Types[30])
}

// TestListsAreComparedItemByItem takes one object out of a list and changes another.
func TestListsAreComparedItemByItem(t *testing.T) {
	h := made(small)
	op := listed(h, 900, 50e9, 40)
	op.Objects[1].Value = "wrong"
	op.Objects = op.Objects[:4]
	h.Operations = append(h.Operations, op)
	page := judged(t, h)
	d := build(&page)
	require.NotEmpty(t, d.Marks)
	keys := func(items []itemData) (keys []text) {
		for _, item := range items {
			keys = append(keys, d.Objects[item.Object].Key)
		}
		return keys
	}
	require.Equal(t, []text{"default/pod-1", "default/pod-4"}, keys(d.Marks[0].Owed))
	require.Equal(t, []text{"default/pod-1"}, keys(d.Marks[0].Came))
}

// TestOnlySoManyAreMarked: the rest is counted.
func TestOnlySoManyAreMarked(t *testing.T) {
	page := judged(t, broken(t))
	for len(page.Verdict.Violations) < maxMarks+7 {
		page.Verdict.Violations = append(page.Verdict.Violations, page.Verdict.Violations[0])
	}
	d := build(&page)
	require.Len(t, d.Marks, maxMarks)
	require.Equal(t, 7+1, d.Left) // the observation, too
}
