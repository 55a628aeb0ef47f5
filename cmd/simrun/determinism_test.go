package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/sim/scenario"
	"github.com/watchsim/watchsim/sim/swarm"
)

// determinism is a range of seeds of a scenario, for this binary.
func determinism(t *testing.T, name, target string, first, last uint64) swarm.Config {
	t.Helper()
	spec, err := scenario.Named(name)
	require.NoError(t, err)
	spec.Target = target
	return swarm.Config{Binary: itself(t), Spec: spec, First: first, Last: last, Limits: swarm.DefaultLimits()}
}

// The errors name the first decision in which two runs of a seed part, and
// where each was then.
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

func TestTwoRunsOfOneSeedAreTold(t *testing.T) {
	err := swarm.Verify(t.Context(), determinism(t, "calm", "undetermined", 1, 2))
	require.ErrorIs(t, err, swarm.ErrNotDeterministic)
	require.Regexp(t, `seed 1, first at decision [0-9]+`, err.Error())
	require.Regexp(t, `(?m)^[0-9]+ at [0-9.hmµns]+: goroutine #[0-9]+ synchronises in < .+ < .+`, err.Error(), "what happened, and its callers")
	require.Contains(t, err.Error(), "--- then, in the one:")
	require.Contains(t, err.Error(), "--- then, in the other:")
}
