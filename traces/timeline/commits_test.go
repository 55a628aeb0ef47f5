package timeline

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

// TestWhenChangesWereCommitted proves that this is not before the request that made
// them, and not after anybody observed them, or a later one.
func TestWhenChangesWereCommitted(t *testing.T) {
	a, b, again := model.Object{Name: "a", Value: "1"}, model.Object{Name: "b", Value: "1"}, model.Object{Name: "b", Value: "2"}
	h := &model.History{
		Truth: model.Truth{Revision: 5, Changes: []model.Change{{RV: 2, Object: a}, {RV: 3, Object: b}, {RV: 4, Deleted: true, Object: a}, {RV: 5, Object: again}}},
		Operations: []model.Operation{
			{ID: 1, Kind: model.Create, Object: &a, Call: 10, Return: 40, ResultRV: 2},
			{ID: 2, Kind: model.Create, Object: &b, Call: 15, Return: model.Pending, Err: model.Unknown},
			{ID: 3, Kind: model.Delete, Scope: model.Scope{Name: "a"}, Call: 30, Return: 60, ResultRV: 4},
		},
		Streams: []model.Stream{{ID: 4, Events: []model.Event{{RV: 3, Time: 25, Type: model.Added}, {RV: 99, Time: 26, Type: model.Added}}}},
		End:     100,
	}
	require.Equal(t, []commit{
		{from: 10, by: 25, author: 0}, // before its writer heard, somebody was told of a later one
		{from: 15, by: 25, author: 1}, // its writer never heard, but a stream did
		{from: 30, by: 60, author: 2},
		{from: 30, by: 100, author: -1}, // nobody saw it: 99 was never committed
	}, commits(h))
}

func TestNamesInTheOrderOfPeople(t *testing.T) {
	sorted := []string{"a", "a-2", "a-10", "a-10b", "b-1"}
	for i, x := range sorted {
		for j, y := range sorted {
			require.Equal(t, i < j, natural(x, y) < 0, "%s %s", x, y)
			require.Equal(t, i == j, natural(x, y) == 0, "%s %s", x, y)
		}
	}
	require.NotZero(t, natural("a-01", "a-1"))
}

func TestLongTextsAreCutBetweenCharacters(t *testing.T) {
	require.Equal(t, strings.Repeat("a", maxText), shortened(strings.Repeat("a", maxText)))
	require.Equal(t, strings.Repeat("é", maxText/2)+"… (2048 bytes in all)", shortened(strings.Repeat("é", maxText)))
	require.Equal(t, "a"+strings.Repeat("é", maxText/2-1)+"… (2049 bytes in all)", shortened("a"+strings.Repeat("é", maxText)))
}
