package scenario

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
)

func TestEveryScenarioSaysWhatHasToHappen(t *testing.T) {
	seen := map[linearizability.Counts]string{}
	for _, entry := range Catalogue() {
		require.NotZero(t, entry.minimum, entry.Name)
		require.Empty(t, seen[entry.minimum], "%s demands what another does", entry.Name)
		seen[entry.minimum] = entry.Name
		require.Positive(t, entry.minimum.Writes, entry.Name)
		require.Positive(t, entry.minimum.Events, entry.Name)
		if entry.any {
			continue // some of its runs are very small
		}
		require.Positive(t, entry.minimum.Bookmarks, entry.Name)
		require.Equal(t, entry.spec.Servers, entry.minimum.Released, "%s: all servers are judged for Released", entry.Name)
		require.Equal(t, entry.spec.Kinds == nil || len(entry.spec.Kinds) > 0, entry.minimum.Faults > 0, "%s: faults where there are any", entry.Name)
	}
}

func TestAScenarioThatIsChangedIsAnother(t *testing.T) {
	named := func(name string, change func(*Spec)) Spec {
		spec := specOf(t, name)
		spec.Target, spec.Seed = "kubernetes", 7
		change(&spec)
		return spec
	}
	drawn := func(s *Spec) {
		plan, err := s.plan()
		require.NoError(t, err)
		s.Plan = plan.String()
	}
	for _, row := range []struct {
		name string
		spec Spec
		own  bool
	}{
		{"as it is", named("storm", func(*Spec) {}), true},
		{"with a mutant", named("storm", func(s *Spec) { s.Mutant = "canary" }), true},
		{"longer and busier", named("storm", func(s *Spec) { s.Duration, s.Operations = time.Hour, 5000 }), true},
		{"replayed", named("storm", drawn), true},
		{"replayed without faults", named("calm", drawn), true},
		{"shorter", named("storm", func(s *Spec) { s.Duration = 30 * time.Second }), false},
		{"quieter", named("storm", func(s *Spec) { s.Operations = 199 }), false},
		{"another plan", named("storm", func(s *Spec) { s.Plan = "# watchsim plan v1\nat 12.5s etcd-crash member=etcd-0 down=2s\n" }), false},
		{"other kinds of fault", named("storm", func(s *Spec) { s.Kinds = []string{"reset"} }), false},
		{"no faults", named("storm", func(s *Spec) { s.Kinds = []string{} }), false},
		{"another cluster", named("storm", func(s *Spec) { s.Servers = 1 }), false},
		{"of no catalogue", named("storm", func(s *Spec) { s.Scenario = "mine" }), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			entry, _ := find("storm")
			if row.spec.Scenario == "calm" {
				entry, _ = find("calm")
			}
			want := minimum
			if row.own {
				want = entry.minimum
			}
			require.Equal(t, want, row.spec.minimum())
		})
	}
}

// TestAVacuousRunIsInconclusive judges a run in which nothing happened and the engine
// lost one of two planned faults.
func TestAVacuousRunIsInconclusive(t *testing.T) {
	plan, err := faults.Parse("# watchsim plan v1\nat 12.5s etcd-crash member=etcd-0 down=2s\nat 20s compaction revision=current-10\n")
	require.NoError(t, err)
	run := &Run{Spec: specOf(t, "minute"), Plan: plan, planned: len(plan), Result: &sim.Result{Stop: sim.Completed}, History: &model.History{},
		Faults: faults.Report{NotFired: []faults.NotFired{{Fault: plan[1], Reason: "there is no revision -4 to compact at"}}}}
	verdict := run.Judge()
	require.Equal(t, linearizability.Inconclusive, verdict.Outcome)
	for _, reason := range []string{
		"of 2 planned faults 0 fired and 1 did not, and nothing is known of the rest",
		"none of the planned faults fired",
		"expected at least 5 writes in the history, found 0",
		"expected at least 1 server checked for leaks in the history, found 0",
	} {
		require.Contains(t, verdict.Reason, reason)
	}
	require.Equal(t, []Unfired{{Fault: "at 20s compaction revision=current-10", Reason: "there is no revision -4 to compact at"}}, verdict.Unfired)
	require.Contains(t, run.Report(verdict, true), "in it: 0 writes (at least 5)")
	require.Contains(t, run.Report(verdict, true), "not fired: at 20s compaction revision=current-10: there is no revision -4 to compact at")
	require.NotContains(t, run.Report(verdict, false), "compact")
	require.Contains(t, run.Report(verdict, false), "of 2 planned faults 0 fired")
}
