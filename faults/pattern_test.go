package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patternOf draws plans with only a pattern and calls each with those of several faults.
func patternOf(t *testing.T, pattern string, kinds []string, each func(Plan)) {
	config := GeneratorConfig{
		Topology: Topology{
			Members: []string{"etcd-0", "etcd-1", "etcd-2"}, Servers: []string{"apiserver-0", "apiserver-1"},
			Clients: []string{"writer-0", "watcher-0"}, Consumers: []string{"watcher-0"},
			Programs: []string{"a", "b", "c"},
		},
		Kinds: kinds, Pattern: pattern, Start: 3 * time.Second, HealBy: 45 * time.Second,
	}
	candidates, err := config.candidates()
	require.NoError(t, err)
	seen := 0
	for seed := range uint64(200) {
		plan := config.drawPattern(rand.New(rand.NewPCG(seed, 1)), candidates)
		slices.SortStableFunc(plan, func(a, b Fault) int { return int(a.At - b.At) })
		require.NoError(t, plan.Check(config.Topology, config.HealBy), plan)
		if len(plan) > 3 {
			seen++
			each(plan)
		}
	}
	require.Greater(t, seen, 40, "few plans of the pattern have several faults")
}

func TestPatternRepeat(t *testing.T) {
	patternOf(t, PatternRepeat, nil, func(plan Plan) {
		first := plan[0]
		for i, fault := range plan {
			same := fault
			same.At, same.Until = first.At, first.Until
			require.Equal(t, first, same)
			require.True(t, i == 0 || fault.At >= plan[i-1].At+minPause)
		}
	})
}

func TestPatternRotate(t *testing.T) {
	patternOf(t, PatternRotate, []string{"etcd-restart", "watch-break"}, func(plan Plan) {
		for i, fault := range plan[1:] {
			require.NotEqual(t, plan[i].Member+plan[i].Server, fault.Member+fault.Server, plan)
		}
	})
	patternOf(t, PatternRotate, []string{"partition"}, func(plan Plan) {
		links := map[[2]string]bool{}
		for _, fault := range plan {
			links[[2]string{fault.From, fault.To}] = true
		}
		require.Greater(t, len(links), 1, plan)
	})
}

func TestPatternChain(t *testing.T) {
	patternOf(t, PatternChain, []string{"compaction", "etcd-crash"}, func(plan Plan) {
		soon := 0
		for i, fault := range plan[1:] {
			if fault.At-plan[i].At <= maxAfter {
				soon++
			}
		}
		require.Positive(t, soon, plan)
	})
}

func TestPatternLag(t *testing.T) {
	others := map[string]int{}
	patternOf(t, PatternLag, nil, func(plan Plan) {
		var lag Fault
		for _, fault := range plan {
			if kind, _ := Lookup(fault.Kind); kind.lags {
				require.GreaterOrEqual(t, fault.Lasts, minLag)
				require.GreaterOrEqual(t, fault.At, lag.End(), plan)
				lag = fault
				continue
			}
			others[fault.Kind]++
			require.NotEqual(t, lag.Server, fault.Server, plan)
			require.Less(t, fault.At, lag.End(), plan)
		}
	})
	require.Len(t, others, 5, "clients turn to another server in fewer ways: %v", others)
	all := 0
	for _, count := range others {
		all += count
	}
	require.Greater(t, others["program-crash"]+others["program-restart"], all/2, "a program that keeps what it has seen does not go back in time: %v", others)
}

// TestPatternStale requires stalls of some resources, and stalls that last until the end of the faults.
func TestPatternStale(t *testing.T) {
	last, others := 0, 0
	patternOf(t, PatternStale, nil, func(plan Plan) {
		for _, fault := range plan {
			require.Equal(t, watchStall, fault.Kind)
			require.GreaterOrEqual(t, fault.Lasts, minLag)
			require.Contains(t, fault.Resources, someResources)
			if fault.End() == 45*time.Second {
				last++
			} else if fault.Lasts > 2*minLag {
				others++
			}
		}
	})
	require.Positive(t, last)
	require.Positive(t, others)
}

// TestWatches requires each resource to be chosen by a half, a quarter or an eighth of the numbers, independently of the others.
func TestWatches(t *testing.T) {
	require.True(t, Selects(AllResources, "pods") && Selects("nodes,pods", "pods") && !Selects("nodes,pods", "pod"))
	const numbers = 3000
	share := func(remainder int, of ...string) float64 {
		chosen := 0
		for n := remainder; n < numbers; n += 3 {
			if !slices.ContainsFunc(of, func(resource string) bool { return !Selects(fmt.Sprint(someResources, n), resource) }) {
				chosen++
			}
		}
		return 3 * float64(chosen) / numbers
	}
	for _, resource := range []string{"pods", "nodes", "databases.example.com"} {
		require.InDelta(t, 0.5, share(0, resource), 0.05)
		require.InDelta(t, 0.25, share(1, resource), 0.05)
		require.InDelta(t, 0.125, share(2, resource), 0.05)
	}
	require.InDelta(t, 0.25, share(0, "pods", "nodes"), 0.05)
}

// TestLate requires each program's watches to lag all the time in half of the late plans, and in no other.
func TestLate(t *testing.T) {
	lags, everyLag := 0, map[time.Duration]bool{}
	for seed := range uint64(200) {
		config := GeneratorConfig{
			Topology: Topology{Servers: []string{"apiserver-0"}, Programs: []string{"one", "other"}},
			Kinds:    []string{"watch-timeout"}, Start: time.Second, HealBy: time.Minute, Late: seed%2 == 0,
		}
		plan, err := Generate(rand.New(rand.NewPCG(seed, 1)), config)
		require.NoError(t, err)
		require.NoError(t, plan.Check(config.Topology, config.HealBy), plan)
		for _, fault := range plan {
			if fault.Kind == watchLag {
				require.True(t, config.Late)
				require.Equal(t, config.HealBy-config.Start, fault.Lasts)
				lags, everyLag[fault.Period] = lags+1, true
			}
		}
	}
	require.InDelta(t, 100, lags, 30)
	require.Greater(t, len(everyLag), 50)
}
