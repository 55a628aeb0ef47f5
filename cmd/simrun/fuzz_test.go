package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/sim/scenario"
)

// FuzzSchedule has the tape of a small scenario mutated, guided by the coverage of
// the cache under test:
//
//	make overlay
//	go test $(go run ./sim/overlay/write build/overlay) -run '^$' -fuzz FuzzSchedule ./cmd/simrun
//
// A byte of the tape is a decision: 0 is the plain choice, and a choice that is not
// there counts modulo those that are.
func FuzzSchedule(f *testing.F) {
	spec, err := scenario.Named("start-reinit")
	require.NoError(f, err)
	spec.Seed, spec.Target = 1, targets[0].name
	spec.Explore.Scope = scenario.CodeOf(spec.Target)
	made, err := findTarget(spec.Target)
	require.NoError(f, err)
	f.Chdir(f.TempDir())
	execute := func(t testing.TB, tape []byte) *scenario.Run {
		require.NoError(t, os.Mkdir("data", 0o700))
		run, err := scenario.Execute(spec, made, scenario.Options{Dir: "data", Tape: tape})
		require.NoError(t, err)
		require.NoError(t, os.RemoveAll("data"))
		return run
	}
	execute(f, nil) // warms up
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 2})
	f.Add([]byte{0, 3, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, tape []byte) {
		start := time.Now()
		verdict := execute(t, tape).Judge()
		t.Logf("%s in %v, hash %s", verdict.Outcome, time.Since(start), verdict.Hash)
		if verdict.Outcome == linearizability.Failed {
			t.Fatalf("%+v", verdict.Violations)
		}
	})
}
