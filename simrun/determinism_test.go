package simrun

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/search/swarm"
	"github.com/watchsim/watchsim/sim"
)

// determinism is a range of seeds of a scenario, for this binary.
func determinism(t *testing.T, name, target string, first, last uint64) swarm.Config {
	t.Helper()
	spec, err := scenario.Named(name)
	require.NoError(t, err)
	spec.Target = target
	return swarm.Config{Binary: itself(t), Spec: spec, First: first, Last: last, Limits: swarm.DefaultLimits()}
}

// The errors name the first decision in which two runs of a seed diverge, and where each was then.
func TestOneSeedIsOneRun(t *testing.T) {
	for name, config := range map[string]swarm.Config{
		"one member":         determinism(t, "minute", "cacher", 1, 6),
		"Kubernetes' cacher": determinism(t, "minute", "kubernetes", 1, 4),
		"three members":      determinism(t, "storm", "cacher", 1, 3),
	} {
		t.Run(name, func(t *testing.T) {
			t.Run("in two orders", func(t *testing.T) {
				require.NoError(t, swarm.Verify(t.Context(), config))
			})
			t.Run("in fresh processes", func(t *testing.T) {
				require.NoError(t, swarm.Repeat(t.Context(), config, config.Last, 3))
			})
		})
	}
}

// A run is the same in place, as the first copy of a worker, as its 500th, and in a fresh process,
// and whether or not it pauses and is copied on the way. A copy that continues with another tape is
// the run of that tape.
func TestARunIsTheSameWhereverItIsMade(t *testing.T) {
	spec, err := scenario.Named("calm")
	require.NoError(t, err)
	spec.Target, spec.Seed, spec.Duration, spec.Operations = "cacher", 7, scenario.MinDuration, 5
	limits := swarm.DefaultLimits().WithWorkers(1)
	pool := swarm.NewPool(itself(t), limits)
	defer pool.Close()
	do := func(job swarm.Job) swarm.Answer {
		answer, err := pool.Do(t.Context(), job)
		require.NoError(t, err)
		return answer
	}
	first := do(swarm.Job{Spec: spec, Details: true})
	for seed := range uint64(498) {
		other := spec
		other.Seed = seed
		do(swarm.Job{Spec: other, Until: time.Millisecond})
	}
	require.Equal(t, first.Verdict.Hash, do(swarm.Job{Spec: spec}).Verdict.Hash, "the 500th copy")
	for _, inPlace := range []bool{false, true} {
		fresh, err := swarm.Once(t.Context(), itself(t), swarm.Job{Spec: spec, InPlace: inPlace}, limits)
		require.NoError(t, err)
		require.Equal(t, first.Verdict.Hash, fresh.Verdict.Hash, "in place: %v", inPlace)
	}

	tape := first.Details.Tape
	at := slices.IndexFunc(tape[300:], func(b byte) bool { return b > 1 && b < 255 }) + 300
	departs := slices.Clone(tape)
	departs[at] = 1
	before := uint64(at - bytes.Count(tape[:at], []byte{255})*4 - 8)
	job := swarm.Job{Spec: spec}
	for _, mark := range []sim.Mark{{}, {Decision: 1}, {Decision: before}, {Instant: 10 * time.Second}} {
		job.Forks = append(job.Forks, swarm.Fork{At: mark, Ways: []swarm.Way{{Tape: tape}, {Branch: scenario.Branch{Seed: 99}}, {Tape: departs}}})
	}
	forked := do(job)
	require.Equal(t, first.Verdict.Hash, forked.Verdict.Hash, "pauses and copies do not show")
	departed := do(swarm.Job{Spec: spec, Tape: departs}).Verdict.Hash
	hashes := map[string]bool{first.Verdict.Hash: true, departed: true}
	for i, replies := range forked.Forks {
		for way, reply := range replies {
			copied, err := reply.Read(spec.Seed)
			require.NoError(t, err)
			switch {
			case way == 0:
				require.Equal(t, first.Verdict.Hash, copied.Verdict.Hash, "mark %+v", job.Forks[i].At)
			case way == 2 && i < 3: // the last mark is behind the deviation
				require.Equal(t, departed, copied.Verdict.Hash, "mark %+v", job.Forks[i].At)
			default:
				hashes[copied.Verdict.Hash] = true
			}
		}
	}
	require.Len(t, hashes, 2+4, "another seed makes another run, from wherever it is followed, and a deviation does")
}

// The shape of a run identifies locks and channels by address: it differs if two processes lock
// different nodes of one map, which the hash does not show unless a goroutine waits there.
func TestTheShapeOfARunIsTheSameInEveryProcess(t *testing.T) {
	spec, err := scenario.Named("minute")
	require.NoError(t, err)
	spec.Target, spec.Explore = "cacher", &scenario.Exploration{Explore: sim.Explore{Observe: true}, To: 45 * time.Second}
	for spec.Seed = range uint64(2) {
		shapes := map[uint64]bool{}
		for i := range 6 {
			shapes[once(t, swarm.Job{Spec: spec, InPlace: i >= 3}).Explored.Shape] = true
		}
		require.Len(t, shapes, 1, "seed %d", spec.Seed)
	}
}

func TestTwoRunsOfOneSeedAreTold(t *testing.T) {
	err := swarm.Verify(t.Context(), determinism(t, "calm", "undetermined", 1, 2))
	require.ErrorIs(t, err, swarm.ErrNotDeterministic)
	require.Regexp(t, `seed 1, first at decision [0-9]+`, err.Error())
	require.Regexp(t, `(?m)^[0-9]+ at [0-9.hmµns]+: goroutine #[0-9]+ synchronises in < .+ < .+`, err.Error(), "what happened, and its callers")
	require.Contains(t, err.Error(), "--- then, in the one:")
	require.Contains(t, err.Error(), "--- then, in the other:")
}
