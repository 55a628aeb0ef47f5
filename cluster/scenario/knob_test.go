package scenario

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// specOf is the spec of a scenario.
func specOf(t testing.TB, name string) Spec {
	spec, err := Named(name)
	require.NoError(t, err)
	return spec
}

// drawnSpec is a run of the scenario any.
func drawnSpec(t *testing.T, seed uint64) Spec {
	spec := specOf(t, "any")
	spec.Target = "cacher"
	return spec.WithSeed(seed)
}

// Among the runs in which it has an effect, each knob has its usual value in half, or in three quarters if it is costly, and
// takes each of its values.
func TestKnobsAreDrawn(t *testing.T) {
	const seeds = 1500
	drawn, usual, seen := map[string]float64{}, map[string]float64{}, map[string]map[string]bool{}
	for seed := range uint64(seeds) {
		spec := drawnSpec(t, seed)
		require.NoError(t, spec.Validate(), "seed %d: %v", seed, spec.Unusual())
		require.Equal(t, spec, spec.WithSeed(seed), "drawing twice changes seed %d", seed)
		for _, knob := range knobs {
			value := knob.get(&spec)
			if knob.Boots && !spec.Cold {
				require.Equal(t, knob.Usual, value, "seed %d starts from a template and sets %s", seed, knob.Name)
				continue
			}
			drawn[knob.Name]++
			if value == knob.Usual {
				usual[knob.Name]++
			}
			if seen[knob.Name] == nil {
				seen[knob.Name] = map[string]bool{}
			}
			seen[knob.Name][value] = true
		}
	}
	for _, knob := range knobs {
		share := usual[knob.Name] / drawn[knob.Name]
		switch knob.Name {
		case "duration", "flood", "initial", "writing": // which others restrict
			require.Greater(t, share, 0.4, knob.Name)
			require.Less(t, share, 0.8, knob.Name)
		default:
			want := 1 - 1/float64(knob.oneIn())
			require.Less(t, math.Abs(share-want), 0.05, "%s is usual in %.2f of the runs", knob.Name, share)
		}
		if knob.Name == "gates" {
			continue // they are drawn together
		}
		for _, value := range knob.Others {
			require.True(t, seen[knob.Name][value], "%s is never %s", knob.Name, value)
		}
	}
}

// No scenario fixes a number larger than the seed can draw for any.
func TestAnyReachesAsFarAsEveryScenario(t *testing.T) {
	size := func(text string) (float64, bool) {
		if length, err := time.ParseDuration(text); err == nil {
			return length.Seconds(), true
		}
		number, err := strconv.ParseFloat(text, 64)
		return number, err == nil
	}
	for _, entry := range drawn {
		spec := specOf(t, entry.Name)
		for _, knob := range knobs {
			fixed, isNumber := size(knob.get(&spec))
			largest, _ := size(knob.Usual)
			for _, value := range knob.Others {
				other, _ := size(value)
				largest = max(largest, other)
			}
			require.True(t, !isNumber || fixed <= largest, "%s has %s=%v, and any draws %v at most", entry.Name, knob.Name, fixed, largest)
		}
	}
}

func TestKnobsThatAreSetAreNotDrawn(t *testing.T) {
	for _, row := range []struct{ name, value string }{
		{"members", "3"}, {"mix", "churn"}, {"mix", UsualValue}, {"kinds", "compaction+reset"}, {"tick", "20ms"}, {"gates", "WatchList=false"}, {"flood", "40"},
	} {
		base := specOf(t, "any")
		base.Target = "kubernetes"
		require.NoError(t, base.Set(row.name, row.value))
		knob, _ := findKnob(row.name)
		want := strings.Replace(row.value, UsualValue, knob.Usual, 1)
		for seed := range uint64(30) {
			spec := base.WithSeed(seed)
			require.Equal(t, want, knob.get(&spec), "seed %d", seed)
			require.True(t, spec.Cold || !knob.Boots, "seed %d sets %s and starts from a template", seed, row.name)
		}
	}
}

// A scenario that draws nothing accepts knobs, too, and a run's name does not depend on whether its
// knobs were drawn or set.
func TestKnobsAndNames(t *testing.T) {
	minute := specOf(t, "minute")
	minute.Target = "cacher"
	plain := minute.WithSeed(7).Name()
	require.NoError(t, minute.Set("servers", "2"))
	require.Empty(t, minute.Given)
	require.NotEqual(t, plain, minute.WithSeed(7).Name())

	one := drawnSpec(t, 7)
	require.Equal(t, "cacher-any-7", one.Name())
	same := one
	require.NoError(t, same.Set("members", fmt.Sprint(one.Members)))
	require.Equal(t, one.Name(), same.Name())
	require.NoError(t, same.Set("operations", "123"))
	require.NotEqual(t, one.Name(), same.Name())
}

func TestSetNamesWhatIsWrong(t *testing.T) {
	spec := drawnSpec(t, 1)
	for _, row := range []struct{ name, value, want string }{
		{"memory", "3", `expected one of the knobs that ` + "`simrun knobs`" + ` lists, found "memory"`},
		{"servers", "many", `servers: expected a value such as 1, 2, 3, found "many"`},
		{"servers", "-1", `found "-1"`},
		{"duration", "60", `such as 1m0s, 30s, 40s, 3m10s, found "60"`},
		{"mix", "wild", `such as usual, churn, updates, controllers, found "wild"`},
		{"kinds", "gremlins", `found "gremlins"`},
	} {
		before := spec
		require.ErrorContains(t, spec.Set(row.name, row.value), row.want)
		require.Equal(t, before, spec, "a value that is refused changes nothing")
	}
}

func TestKnobsHaveUniqueNames(t *testing.T) {
	var names []string
	for _, knob := range Knobs() {
		require.NotContains(t, names, knob.Name)
		names = append(names, knob.Name)
	}
	require.True(t, slices.Contains(names, "members"))
}
