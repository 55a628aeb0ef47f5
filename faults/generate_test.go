package faults

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func generatorConfig() GeneratorConfig {
	return GeneratorConfig{Topology: topology(), MaxCount: 3, Start: time.Second, HealBy: 45 * time.Second}
}

// generated returns the plan of a seed.
func generated(t require.TestingT, seed uint64, config GeneratorConfig) Plan {
	plan, err := Generate(rand.New(rand.NewPCG(seed, 0)), config)
	require.NoError(t, err)
	return plan
}

// anyConfig draws small and large configurations, with kinds that are possible and kinds that are
// not.
func anyConfig(t *rapid.T) GeneratorConfig {
	all := topology()
	config := GeneratorConfig{
		Topology: Topology{
			Members:   all.Members[:rapid.IntRange(0, 3).Draw(t, "members")],
			Servers:   all.Servers[:rapid.IntRange(0, 2).Draw(t, "servers")],
			Clients:   all.Clients[:rapid.IntRange(0, 3).Draw(t, "clients")],
			Consumers: all.Consumers[:rapid.IntRange(0, 2).Draw(t, "consumers")],
			Programs:  all.Programs[:rapid.IntRange(0, 1).Draw(t, "programs")],
		},
		Every:    rapid.Bool().Draw(t, "every"),
		Calm:     rapid.Bool().Draw(t, "calm"),
		Late:     rapid.Bool().Draw(t, "late"),
		Pattern:  rapid.SampledFrom(append(Patterns(), "")).Draw(t, "pattern"),
		MaxCount: rapid.IntRange(0, 5).Draw(t, "count"),
		Start:    time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "start")),
	}
	config.Certified = config.Servers[:rapid.IntRange(0, len(config.Servers)).Draw(t, "certified")]
	config.HealBy = config.Start + time.Duration(rapid.Int64Range(0, int64(60*time.Second)).Draw(t, "window"))
	if rapid.Bool().Draw(t, "restricted") {
		config.Kinds = rapid.SliceOfDistinct(rapid.SampledFrom([]string{"compaction", "etcd-crash", "quorum-loss", "partition", "slow-consumer", "expiring-writes", "list-failure"}),
			rapid.ID[string]).Draw(t, "kinds")
	}
	return config
}

func TestGeneratedPlansFitHealAndDoNotClash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config := anyConfig(t)
		seed := rapid.Uint64().Draw(t, "seed")
		plan := generated(t, seed, config)
		require.NoError(t, plan.Check(Topology{
			Members: config.Members, Servers: config.Servers, Clients: append(slices.Clone(config.Clients), config.Consumers...),
			Certified: config.Certified, Consumers: config.Consumers, Programs: config.Programs,
		}, config.HealBy))
		parsed, err := Parse(plan.String())
		require.NoError(t, err)
		require.ElementsMatch(t, plan, parsed)
		for i, fault := range plan {
			require.GreaterOrEqual(t, fault.At, config.Start)
			if config.Kinds != nil && !config.Late {
				require.Contains(t, config.Kinds, fault.Kind)
			}
			require.LessOrEqual(t, fault.settled(), config.HealBy)
			for _, other := range plan[i+1:] {
				require.LessOrEqual(t, fault.At, other.At, "plans are in order of time")
				require.False(t, config.clash(fault, other), "%v clashes with %v", fault, other)
			}
		}
		require.Equal(t, plan, generated(t, seed, config), "a plan is a function of its seed")
	})
}

// Half of the calm plans have an eighth of the kinds or fewer, which is rare otherwise.
func TestCalm(t *testing.T) {
	config := generatorConfig()
	few := func(calm bool) (plans int) {
		config.Calm = calm
		for seed := range uint64(200) {
			plan := generated(t, seed, config)
			names := map[string]bool{}
			for _, fault := range plan {
				names[fault.Kind] = true
			}
			if len(names) <= len(Kinds())/8 {
				plans++
			}
		}
		return plans
	}
	require.Less(t, few(false), 5)
	require.InDelta(t, 100, few(true), 30)

	config.Pattern = PatternLag
	alone := 0
	for seed := range uint64(200) {
		plan := generated(t, seed, config)
		if !slices.ContainsFunc(plan, func(fault Fault) bool {
			kind, _ := Lookup(fault.Kind)
			return !kind.lags && !kind.switches
		}) {
			alone++
		}
	}
	require.InDelta(t, 100, alone, 30, "plans have nothing beside their pattern")
}

func TestEveryKindCanBeAskedForAtOnce(t *testing.T) {
	config := generatorConfig()
	config.Every, config.MaxCount, config.HealBy = true, 1, time.Minute
	alone := config
	alone.Members = config.Members[:1]
	asked := map[string]bool{}
	for seed := range uint64(50) {
		for _, config := range []GeneratorConfig{config, alone} {
			plan := generated(t, seed, config)
			at, waiting := map[string]int{}, map[string]int{}
			for _, fault := range plan {
				if fault.Point == "" {
					at[fault.Kind]++
				} else {
					waiting[fault.Kind]++
				}
			}
			for _, kind := range Kinds() {
				switch {
				case kind.lacks(len(config.Members)) != "":
					require.Zero(t, at[kind.Name]+waiting[kind.Name], kind.Name)
					continue
				case kind.waits != "":
					require.Positive(t, waiting[kind.Name], "seed %d: %s in\n%v", seed, kind.Name, plan)
				default:
					require.Equal(t, 1, at[kind.Name], "seed %d: %s in\n%v", seed, kind.Name, plan)
				}
				asked[kind.Name] = true
			}
		}
	}
	require.Len(t, asked, len(Kinds()))
}

func TestPlansDifferInTheirKindsAndReachEveryPoint(t *testing.T) {
	subsets, kindsSeen, pointsSeen := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for seed := range uint64(400) {
		config := generatorConfig()
		if seed%4 == 0 {
			config.Members = config.Members[:1]
		}
		plan := generated(t, seed, config)
		require.NotEmpty(t, plan)
		require.LessOrEqual(t, len(plan), 3*len(Kinds())+maxWaiting)
		subset := map[string]bool{}
		for _, fault := range plan {
			subset[fault.Kind], kindsSeen[fault.Kind] = true, true
			if fault.Point != "" {
				pointsSeen[fault.Point] = true
				require.Contains(t, config.passing(fault.Point), fault.Process)
			}
		}
		subsets[fmt.Sprint(subset)] = true
	}
	require.Greater(t, len(subsets), 360)
	require.Len(t, kindsSeen, len(Kinds()))
	require.Len(t, pointsSeen, len(Points()))
}

func TestGenerateRefusesAnUnknownKind(t *testing.T) {
	config := generatorConfig()
	config.Kinds = []string{"earthquake"}
	_, err := Generate(rand.New(rand.NewPCG(1, 1)), config)
	require.ErrorContains(t, err, `found "earthquake"`)
}

// TestPlansOfSeedsStay pins the text of 3,000 generated plans. Seeds in reports and docs
// lose their meaning when this digest changes; change it only together with them.
func TestPlansOfSeedsStay(t *testing.T) {
	digest := sha256.New()
	for seed := range uint64(1000) {
		every, alone := generatorConfig(), generatorConfig()
		every.Every = true
		alone.Members = alone.Members[:1]
		for _, config := range []GeneratorConfig{generatorConfig(), every, alone} {
			config.Programs, config.Certified = nil, nil // simrun's worlds have none
			fmt.Fprint(digest, generated(t, seed, config))
		}
	}
	require.Equal(t, "5c82143f3322ec327052642945e264d2708ad662f89aae0c3c852d5f64f49b75", fmt.Sprintf("%x", digest.Sum(nil)))
}

// A configuration bounds the duration of faults of a kind, above and below the kind's own bound.
func TestConfigurationsBoundDurations(t *testing.T) {
	for _, most := range []time.Duration{100 * time.Millisecond, 40 * time.Second} {
		config := generatorConfig()
		config.Kinds, config.MaxLasts = []string{"transform-failure"}, map[string]time.Duration{"transform-failure": most}
		var longest time.Duration
		for seed := range uint64(200) {
			for _, fault := range generated(t, seed, config) {
				longest = max(longest, fault.Lasts)
			}
		}
		require.LessOrEqual(t, longest, most)
		require.Greater(t, longest, most/2)
	}
}

// Plans are ones that Generate may draw, and eventually have every kind.
func TestPlans(t *testing.T) {
	require.NoError(t, flag.Set("rapid.checks", "2000"))
	defer func() { require.NoError(t, flag.Set("rapid.checks", "100")) }()
	config, drawn := generatorConfig(), map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		plan := Plans(config).Draw(t, "plan")
		require.NoError(t, plan.Check(config.Topology, config.HealBy))
		for _, fault := range plan {
			drawn[fault.Kind] = true
		}
	})
	candidates, err := config.candidates()
	require.NoError(t, err)
	require.Len(t, drawn, len(candidates), "some kinds are hardly ever drawn")
}

// A failure because of one kind of fault shrinks to little else.
func TestPlansShrink(t *testing.T) {
	require.NoError(t, flag.Set("rapid.nofailfile", "true"))
	defer func() { require.NoError(t, flag.Set("rapid.nofailfile", "false")) }()
	failed := failing{TB: t}
	func() {
		defer func() { _ = recover() }() // rapid ends a test that has failed
		rapid.Check(&failed, func(t *rapid.T) {
			plan := Plans(generatorConfig()).Draw(t, "plan")
			if slices.ContainsFunc(plan, func(f Fault) bool { return f.Kind == "compaction" }) {
				t.Fatalf("found %d faults", len(plan))
			}
		})
	}()
	require.NotEmpty(t, failed.said)
	last := failed.said[len(failed.said)-1]
	var count int
	_, err := fmt.Sscanf(last[strings.Index(last, "found "):], "found %d faults", &count)
	require.NoError(t, err, last)
	require.LessOrEqual(t, count, 3)
}

// failing records the messages of a failing test, and passes.
type failing struct {
	rapid.TB
	said []string
}

func (f *failing) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}
func (f *failing) Logf(string, ...any) {}
func (f *failing) Fail()               {}
func (f *failing) FailNow()            {}
func (f *failing) Failed() bool        { return len(f.said) > 0 }
