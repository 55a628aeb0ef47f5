package faults_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/faults"
)

// oneByOne looks for the first list that holds.
func oneByOne[T any](holds func([]T) bool) func([][]T) int {
	return func(candidates [][]T) int { return slices.IndexFunc(candidates, holds) }
}

func TestMinimiseFindsWhatIsNeeded(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		items := make([]int, rapid.IntRange(0, 60).Draw(r, "items"))
		var needed []int
		for i := range items {
			items[i] = i
			if rapid.IntRange(0, 9).Draw(r, "needed") == 0 {
				needed = append(needed, i)
			}
		}
		tried := 0
		kept := faults.Minimise(items, faults.EveryItem, oneByOne(func(list []int) bool {
			tried++
			return !slices.ContainsFunc(needed, func(n int) bool { return !slices.Contains(list, n) })
		}))
		require.Equal(t, needed, kept)
		require.LessOrEqual(t, tried, 1+4*(len(needed)+1)*10, "far fewer tries than there are lists")
	})
}

func TestMinimiseLeavesNothingThatCanGo(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		items := rapid.SliceOfN(rapid.IntRange(0, 30), 0, 25).Draw(r, "items")
		// A sum is a test that any of several lists passes.
		least := rapid.IntRange(0, 100).Draw(r, "least")
		holds := func(list []int) bool {
			sum := 0
			for _, item := range list {
				sum += item
			}
			return sum >= least
		}
		if !holds(items) {
			return
		}
		kept := faults.Minimise(items, faults.EveryItem, oneByOne(holds))
		require.True(t, holds(kept))
		for i := range kept {
			require.False(t, holds(slices.Delete(slices.Clone(kept), i, i+1)), "%d of %v can go", i, kept)
		}
	})
}

func TestMinimiseStopsWhenItFindsNothing(t *testing.T) {
	items := []int{1, 2, 3}
	tried := 0
	require.Equal(t, items, faults.Minimise(items, faults.EveryItem, func([][]int) int { tried++; return -1 }))
	require.Less(t, tried, 10)
}

func TestMinimiseLeavesSmallPiecesAlone(t *testing.T) {
	items := make([]int, 1000)
	for i := range items {
		items[i] = i
	}
	tried := 0
	kept := faults.Minimise(items, 10, oneByOne(func(list []int) bool {
		tried++
		return slices.Contains(list, 0) && len(list) > 500 && len(list)%2 == 0
	}))
	require.Greater(t, len(kept), 500)
	require.Less(t, tried, 100)
}
