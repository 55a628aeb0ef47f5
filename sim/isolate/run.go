package isolate

import (
	"testing"

	"github.com/watchsim/watchsim/sim"
)

// Run runs f as a simulation in a copy of this process, and fails the test if the run did not
// complete. The test that f gets logs, fails and is skipped like the outer one. The result has no
// trace, which is large; see [InPlace].
func Run(t testing.TB, config sim.Config, f func(testing.TB, *sim.World)) *sim.Result {
	t.Helper()
	result := Try(t, config, f)
	mustComplete(t, config, result)
	return result
}

// Try is like Run for a simulation that need not complete.
func Try(t testing.TB, config sim.Config, f func(testing.TB, *sim.World)) *sim.Result {
	t.Helper()
	return attempt(t, config, func(t testing.TB, w *sim.World) struct{} {
		f(t, w)
		return struct{}{}
	}).Result
}

// Value is like Run for a simulation with a result, which comes back as JSON. f must not use the
// test.
func Value[T any](t testing.TB, config sim.Config, f func(*sim.World) T) (T, *sim.Result) {
	t.Helper()
	o := attempt(t, config, func(_ testing.TB, w *sim.World) T { return f(w) })
	mustComplete(t, config, o.Result)
	return o.Value, o.Result
}

// InPlace runs f as a simulation in this process, which must be a copy ([Isolated]) that has not
// simulated yet, and fails the test if the run did not complete.
func InPlace(t testing.TB, config sim.Config, f func(*sim.World)) *sim.Result {
	t.Helper()
	result, err := sim.Run(config, f)
	if err != nil {
		t.Fatal(err)
	}
	mustComplete(t, config, result)
	return result
}

// outcome is what a copy returns about a simulation.
type outcome[T any] struct {
	Result *sim.Result
	Value  T
}

func attempt[T any](t testing.TB, config sim.Config, f func(testing.TB, *sim.World) T) outcome[T] {
	t.Helper()
	return Answer(t, func(t testing.TB) outcome[T] {
		var o outcome[T]
		result, err := sim.Run(config, func(w *sim.World) { o.Value = f(t, w) })
		if err != nil {
			t.Fatal(err)
		}
		o.Result = result
		o.Result.Trace = nil
		return o
	})
}

func mustComplete(t testing.TB, config sim.Config, result *sim.Result) {
	t.Helper()
	if result.Stop != sim.Completed {
		t.Fatalf("seed %d: %s\n%s", config.Source.Seed(), result.Stop, result.Stacks)
	}
}
