package shrink

import "sync"

// firstOf tries candidates on several workers at a time and returns the index of
// the first, in order, that holds, or -1. None is begun after one that holds, and
// those before it are waited for: the result does not depend on the number of
// workers.
func firstOf(workers, count int, holds func(index int) bool) int {
	var mu sync.Mutex
	next, found := 0, count
	take := func() (index int, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if next >= found {
			return 0, false
		}
		next++
		return next - 1, true
	}
	var group sync.WaitGroup
	for range min(workers, count) {
		group.Go(func() {
			for index, ok := take(); ok; index, ok = take() {
				if holds(index) {
					mu.Lock()
					found = min(found, index)
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	if found == count {
		return -1
	}
	return found
}
