package explore

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// toyRaise raises a flag between two sections of a lock: no channel and no lock tells
// whether it is up, but how far the goroutine has come does.
//
//go:noinline
func toyRaise(mu *sync.Mutex, flag *atomic.Bool) func() {
	return func() {
		mu.Lock()
		flag.Store(false)
		mu.Unlock()
		flag.Store(true)
		mu.Lock()
		flag.Store(false)
		mu.Unlock()
	}
}

func TestPointsWithoutAnEventBetweenThemAreTwoPlaces(t *testing.T) {
	raised := func() bool {
		var mu sync.Mutex
		var flag atomic.Bool
		wrong := false
		toyTogether(toyRaise(&mu, &flag), func() { wrong = flag.Load() })
		return wrong
	}
	result, strategy := exhaust(t, raised, 1)
	require.Positive(t, result.Failed, "to let others go first behind the unlock is not to do so before the next lock")
	require.Zero(t, strategy.Strays)
	every := exhaustEvery(t, raised)
	require.Positive(t, every.Failed)
}
