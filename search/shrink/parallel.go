package shrink

import (
	"context"
	"sync/atomic"

	"github.com/watchsim/watchsim/search/parallel"
)

// firstOf tries candidates on several workers at a time and returns the index of
// the first, in order, that holds, or -1. None is begun after one that holds, and
// those before it are waited for: the result does not depend on the number of
// workers.
func firstOf(workers, count int, holds func(index int) bool) int {
	var found atomic.Int64
	found.Store(int64(count))
	index := -1
	// The work has no errors, and nothing interrupts it.
	_ = parallel.Run(context.Background(), min(workers, count),
		func() (int, bool) { index++; return index, int64(index) < found.Load() },
		func(_ context.Context, index int) (bool, error) {
			return int64(index) < found.Load() && holds(index), nil
		},
		func(index int, held bool) error {
			if held {
				found.Store(min(found.Load(), int64(index)))
			}
			return nil
		})
	if found.Load() == int64(count) {
		return -1
	}
	return int(found.Load())
}
