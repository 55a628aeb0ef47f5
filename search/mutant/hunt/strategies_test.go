package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/sim"
)

func TestAStrategyChangesNothingButTheSchedule(t *testing.T) {
	spec, err := named(context.Background(), bug)
	require.NoError(t, err)
	spec.Seed = 7
	drawn := spec.DrawnSchedule()
	for _, s := range strategies {
		steered := s.steer(spec, 99)
		switch {
		case s.depth > 0:
			require.Equal(t, &sim.Priorities{Depth: s.depth, Steps: 99}, steered.Explore.Priorities, s.name)
			require.NoError(t, steered.Validate(), s.name)
		case s.alter != nil:
			require.NotEqual(t, *steered.Schedule, drawn, s.name)
			require.Equal(t, steered.Schedule.YieldEvery, drawn.YieldEvery, s.name)
		default:
			require.Nil(t, steered.Schedule, s.name)
		}
		steered.Schedule, steered.Explore = spec.Schedule, spec.Explore
		require.Equal(t, spec, steered, s.name)
	}
	given := sim.Schedule{YieldEvery: 7, StallOneIn: 3}
	spec.Schedule = &given
	require.Equal(t, sim.Schedule{YieldEvery: 7}, *strategies[1].steer(spec, 0).Schedule)
	require.Equal(t, sim.Schedule{YieldEvery: 7, StallOneIn: 3}, given, "that of the scenario is left alone")
}

func TestAPlanOfPrioritiesIsMadeForTheLengthOfAPlainRun(t *testing.T) {
	h := newHunter(t, nil, nil)
	var specs []scenario.Spec
	made := fake(failing(2), failing())
	h.run = func(ctx context.Context, on string, spec scenario.Spec) (verdict, time.Duration, error) {
		specs = append(specs, spec)
		v, used, err := made(ctx, on, spec)
		v.steps = 1234
		return v, used, err
	}
	h.by = strategy{name: "priorities", depth: 3}
	r := tried(t, h, bug, 1, 10)
	require.EqualValues(t, 2, r.Found)
	require.InDelta(t, 4, r.Seconds, 0.1, "the plain run, two with the bug, and one without")
	require.Nil(t, specs[0].Explore.Priorities)
	for _, spec := range specs[1:] {
		require.Equal(t, &sim.Priorities{Depth: 3, Steps: 1234}, spec.Explore.Priorities)
	}
}

func TestTrialsOfAStrategyAreItsOwn(t *testing.T) {
	h := newHunter(t, failing(3), failing())
	require.NoError(t, h.results.add(result{Mutant: bug.Name, Key: keyOf(bug), Trial: 1, Seeds: 2, Found: 2, Budget: 10}))
	h.by = strategies[1]
	require.NoError(t, h.mutant(context.Background(), bug))
	require.Len(t, h.trials(bug), 1)
	require.EqualValues(t, 3, h.trials(bug)[0].Found)
	require.Len(t, trialsOf(h.results.all, bug), 1)
	require.EqualValues(t, 2, trialsOf(h.results.all, bug)[0].Found, "the record is not touched")
}

func TestTheTableOfStrategies(t *testing.T) {
	trial := func(by, number, seeds int, found uint64) result {
		return result{
			Mutant: bug.Name, Key: keyOf(bug), Strategy: strategies[by].name, Trial: number,
			Seeds: seeds, Found: found, Seconds: float64(seeds) / 10,
		}
	}
	results := []result{
		trial(0, 1, 5, 5), trial(0, 2, 9, 9), trial(0, 3, 7, 7),
		trial(1, 1, 40, 40), trial(1, 2, 90, 0),
		trial(2, 1, 300, 0),
	}
	require.Equal(t, "| bug | scenario | as simrun does | walk alone | stalls | places in focus | PCT, depth 2 | PCT, depth 3 |\n"+
		"|---|---|---|---|---|---|---|---|\n"+
		"| bug | `--scenario calm` | 7 (9) runs, 0.7 (0.9) s | in 1 of 2, 40 (40) runs, 4.0 (4.0) s | not in 300 runs, 30 s | – | – | – |\n",
		strategyTable([]mutant.Mutant{bug}, strategies, results))
}

func TestAMutantIsHuntedElsewhere(t *testing.T) {
	chosen, err := choose(options{only: "A01,E02", in: [][]string{{own}, {"--scenario", "pair", "--faults", "reset"}}})
	require.NoError(t, err)
	require.Equal(t, []string{"A01", "A01", "E02", "E02"}, namesOf(chosen))
	require.Equal(t, []string{"--scenario", "pair", "--faults", "reset"}, chosen[1].Hunt)
	require.NotContains(t, chosen[0].Hunt, "pair")
	require.NotEqual(t, keyOf(chosen[0]), keyOf(chosen[1]), "results of other runs are not taken for those of its own")
	require.Equal(t, suiteKeyOf(chosen[0]), suiteKeyOf(chosen[1]), "the edit is the same")

	require.Len(t, options{in: [][]string{{own}}}.strategies(), 1)
	require.Len(t, options{in: [][]string{{own}}, compare: true}.strategies(), len(strategies))
}

func TestOneMutantIsHuntedInSeveralKindsOfRuns(t *testing.T) {
	h := newHunter(t, failing(2), failing())
	h.options.jobs = 4
	there := bug
	there.Hunt = []string{"--scenario", "pair"}
	require.NoError(t, h.mutants(context.Background(), []mutant.Mutant{bug, there}))
	require.Len(t, h.trials(bug), 1)
	require.Len(t, h.trials(there), 1)
}
