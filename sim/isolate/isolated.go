package isolate

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/fork"
	"github.com/watchsim/watchsim/sim/simdisk"
)

// Limits bound one copy. The wall-clock limit allows for a machine that is busy with other
// packages' tests.
var Limits = fork.Limits{Processor: 2 * time.Minute, Clock: 5 * time.Minute, Memory: fork.DefaultLimits.Memory}

// Isolated runs body in a copy of this process. The test that body gets logs, fails and is skipped
// like the outer one.
func Isolated(t testing.TB, body func(t testing.TB)) {
	t.Helper()
	Answer(t, func(t testing.TB) struct{} {
		body(t)
		return struct{}{}
	})
}

// Answer is like Isolated for a body with a result, which comes back as JSON.
func Answer[T any](t testing.TB, body func(t testing.TB) T) T {
	t.Helper()
	if err := sim.Available(); err != nil {
		t.Fatal(err)
	}
	if Raced {
		alone(t)
		return body(t)
	}
	// encoding/json caches types. Without this, the first copy would fill the cache and
	// differ from the second.
	var none report[T]
	learn(none)
	made, err := fork.Now(Limits)
	if err != nil {
		t.Fatal(err)
	}
	if made.Inside() {
		leave(made, live(made, t, body))
	}
	ended, err := made.Wait(nil)
	if err != nil {
		t.Fatal(err)
	}
	return take[T](t, ended)
}

// report is the answer of a copy.
type report[T any] struct {
	Said
	Value T
}

// learn makes encoding/json cache a type.
func learn[T any](r report[T]) {
	text, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		panic(fmt.Sprintf("isolate: what a test finds out has to be representable as JSON: %v", err))
	}
}

// live runs the body in a copy.
func live[T any](made *fork.Copy, t testing.TB, body func(testing.TB) T) report[T] {
	// The limit of memory counts addresses, of which files in memory reserve many.
	if err := simdisk.Mount(); err != nil {
		panic(err)
	}
	if err := made.Limit(); err != nil {
		panic(err)
	}
	var value T
	said := Inside(t, func(t testing.TB) { value = body(t) }, func(f func()) { go f() })
	return report[T]{said, value}
}

// Said is what the test inside a copy logged, and how it ended.
type Said struct {
	Log             []string
	Failed, Skipped bool
}

// Inside runs a body with the copy's view of the test, in a goroutine that start starts, and waits
// for it.
func Inside(t testing.TB, body func(testing.TB), start func(func())) Said {
	failed, races := t.Failed(), Races()
	in := &inside{TB: t}
	done := make(chan struct{})
	start(func() { // FailNow ends the goroutine that calls it
		defer close(done)
		defer in.cleanUp()
		body(in)
	})
	<-done
	if t.Failed() && !failed && Races() == races { // the testing package fails a test for a data race
		in.Error("an assertion has failed on the test outside of the copy, which took what it said along; use the test that the function is called with")
	}
	return Said{slices.Clone(in.log), in.failed, in.skipped} // what goes on after the body may log as well
}

// leave ends a copy.
func leave[T any](made *fork.Copy, r report[T]) {
	answer, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	made.Leave(answer)
}

// take repeats on the test outside what the one inside logged and did.
func take[T any](t testing.TB, ended fork.Ended) T {
	t.Helper()
	if len(ended.Output) > 0 {
		t.Logf("the copy wrote:\n%s", ended.Output)
	}
	if !ended.Well() {
		t.Fatalf("a copy of this test's process died: %s", ended.Why())
	}
	var r report[T]
	if err := json.Unmarshal(ended.Answer, &r); err != nil {
		t.Fatalf("cannot read what a copy of this test's process answers: %v", err)
	}
	for _, line := range r.Log {
		t.Log(line)
	}
	if r.Failed {
		t.FailNow()
	}
	if r.Skipped {
		t.SkipNow()
	}
	return r.Value
}
