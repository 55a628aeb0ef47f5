package simtest_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/watchsim/watchsim/simtest"
)

// TestRacy has a data race in package bytes, which the detector covers like users' packages, but
// unlike this one.
func TestRacy(t *testing.T) {
	inside(t, simtest.Config{}, func(*simtest.T, *simtest.Cluster) {
		var shared bytes.Buffer
		for range 2 {
			go func() { shared.WriteString("unsynchronised") }()
		}
		time.Sleep(time.Second)
	})
}
