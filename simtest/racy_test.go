package simtest_test

import (
	"testing"
	"time"

	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/simtest/internal/racy"
)

// TestRacy has a data race.
func TestRacy(t *testing.T) {
	inside(t, simtest.Config{}, func(t *simtest.T, _ *simtest.Cluster) {
		racy.Count(func() { time.Sleep(time.Second) })
	})
}
