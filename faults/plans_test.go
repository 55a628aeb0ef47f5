package faults

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

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
