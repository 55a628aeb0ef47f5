// Package simtest helps tests that simulate.
package simtest

import (
	"testing"

	"github.com/watchsim/watchsim/sim"
)

// Run runs f as a simulation and fails the test if the run did not complete.
// Without the toolchain overlay the test fails, in one sentence that says what
// to run.
func Run(t testing.TB, config sim.Config, f func(*sim.World)) *sim.Result {
	t.Helper()
	result := Try(t, config, f)
	if result.Stop != sim.Completed {
		t.Fatalf("seed %d: %s\n%s", config.Source.Seed(), result.Stop, result.Stacks)
	}
	return result
}

// Try is Run for a run that need not complete.
func Try(t testing.TB, config sim.Config, f func(*sim.World)) *sim.Result {
	t.Helper()
	result, err := sim.Run(config, f)
	if err != nil {
		t.Fatal(err)
	}
	return result
}
