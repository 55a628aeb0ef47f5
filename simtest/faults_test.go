package simtest_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/simtest"
)

func TestDisturb(t *testing.T) {
	require.Contains(t, passes(t, "", "TestStallsAgain", "-simtest.seeds=40"), "a goroutine is stalled again: in ")
}

// TestStallsAgain: goroutines are stalled until the cluster is healed, and again from Disturb on.
func TestStallsAgain(t *testing.T) {
	inside(t, simtest.Config{}, func(t *simtest.T, c *simtest.Cluster) {
		var late time.Duration // the most that a goroutine is late
		c.Go("timer", func(ctx context.Context, _ *rest.Config) error {
			var lock sync.Mutex
			for ctx.Err() == nil {
				began := time.Now()
				time.Sleep(time.Millisecond)
				lock.Lock() // where it may stall
				late = max(late, time.Since(began)-time.Millisecond)
				lock.Unlock()
			}
			return nil
		})
		c.Heal()
		time.Sleep(5 * time.Second) // a goroutine that was stalled before goes on
		late = 0
		time.Sleep(10 * time.Second)
		require.Zero(t, late)
		c.Disturb()
		time.Sleep(10 * time.Second)
		t.Sometimes("a goroutine is stalled again", late > 0)
	})
}
