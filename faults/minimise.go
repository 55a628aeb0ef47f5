package faults

import (
	"math"
	"slices"
)

// EveryItem as the number of pieces makes Minimise try each item by itself.
const EveryItem = math.MaxInt

// Minimise leaves out as many items of a list as it can, such as the faults of a plan, while what
// is left still has some property. It is delta debugging (Zeller and Hildebrandt, 2002), with large
// pieces first; a list with more items than pieces is cut into that many pieces. first returns the index
// of the first candidate that has the property, or -1; it may give up at any time by returning -1.
// Unless it did, or there were too many items, no single item of the result can be left out.
func Minimise[T any](items []T, pieces int, first func(candidates [][]T) int) []T {
	size := 1
	if len(items) > fewItems {
		if first([][]T{nil}) == 0 {
			return nil
		}
		size = (len(items) + 1) / 2
	}
	least := func() int { return max(1, len(items)/pieces) }
	for ; ; size = max(least(), (size+1)/2) {
		removed := false
		for from := 0; from < len(items); {
			candidates := without(items, from, size)
			found := first(candidates)
			if found < 0 {
				break
			}
			items, from, removed = candidates[found], from+found*size, true
		}
		if len(items) == 0 {
			return nil
		}
		size = min(size, len(items))
		if size <= least() && !removed {
			return items
		}
	}
}

// fewItems is how many items are tried one by one in one call.
const fewItems = 4

// without returns the lists that lack one piece of the given size, from an index on.
func without[T any](items []T, from, size int) [][]T {
	var lists [][]T
	for ; from < len(items); from += size {
		lists = append(lists, slices.Concat(items[:from], items[min(from+size, len(items)):]))
	}
	return lists
}
