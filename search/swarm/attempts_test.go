package swarm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/search/explore"
	"github.com/watchsim/watchsim/sim"
)

func TestAttemptsThatDifferInTheirLastDeviationAreOneJob(t *testing.T) {
	spec := scenario.Spec{Explore: &scenario.Exploration{}}
	attempt := func(whole bool, deviations ...explore.Deviation) explore.Attempt {
		return explore.Attempt{Seed: 7, Deviations: deviations, Whole: whole}
	}
	first := explore.Deviation{Decision: 1, Chosen: 2}
	job, err := shared([]explore.Attempt{
		attempt(false, first, explore.Deviation{Decision: 3, Chosen: 1}),
		attempt(true, first, explore.Deviation{Decision: 3, Chosen: 300}),
		attempt(false, first, explore.Deviation{Decision: 5, Chosen: 1}),
	}, spec)
	require.NoError(t, err)
	require.Equal(t, uint64(7), job.Spec.Seed)
	require.Equal(t, []byte{0, 2}, job.Tape, "what they have in common is run once")
	require.True(t, job.OnlyForks && job.NewEnds && job.Choices)
	require.Equal(t, []Fork{
		{At: sim.Mark{Decision: 3}, Ways: []Way{{Tape: []byte{0, 2, 0, 1}}, {Tape: []byte{0, 2, 0, 255, 44, 1, 0, 0}, Whole: true}}},
		{At: sim.Mark{Decision: 5}, Ways: []Way{{Tape: []byte{0, 2, 0, 0, 0, 1}}}},
	}, job.Forks)

	job, err = shared([]explore.Attempt{attempt(true)}, spec)
	require.NoError(t, err)
	require.Empty(t, job.Forks)
	require.False(t, job.OnlyForks, "the plain run is one itself")
	job, err = shared([]explore.Attempt{{Seed: 7, Observe: true}}, spec)
	require.NoError(t, err)
	require.False(t, job.Choices || job.NewEnds, "nothing of it is known before")
}
