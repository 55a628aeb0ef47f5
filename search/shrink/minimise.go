package shrink

import "slices"

// minimise leaves out as many items as it can, large pieces first, while what is
// left still holds. first returns the index of the first candidate that holds, or
// -1; it may stop looking at any time by returning -1. No single item can be left
// out of the result unless first has stopped looking, or the list is too long for that:
// it is cut into so many pieces at most.
func minimise[T any](items []T, pieces int, first func(candidates [][]T) int) []T {
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

// fewItems is how many items are tried one by one at once.
const fewItems = 4

// without are the lists that lack one piece of a size, from an index on.
func without[T any](items []T, from, size int) [][]T {
	var lists [][]T
	for ; from < len(items); from += size {
		lists = append(lists, slices.Concat(items[:from], items[min(from+size, len(items)):]))
	}
	return lists
}
