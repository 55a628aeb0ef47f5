package campaign_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/campaign"
)

func TestReport(t *testing.T) {
	folder := divided(t, 2)
	spec := header(10, 1, 1).Spec.WithSeed(10)
	require.NoError(t, os.MkdirAll(filepath.Join(campaign.ArtifactsFolder(folder), spec.Name()), 0o700))
	m, err := campaign.Merge([]string{folder})
	require.NoError(t, err)
	require.Equal(t, `143 of 143 seeds: 107 passed, 26 failed, 10 inconclusive
28600 operations, 14300 watch events, 10051 simulated seconds
1 not deterministic: two runs of the seed differed

2 signatures:

  14 failures: Reliable, stream
    missing-event
    seeds: 10, 20, 30, 40, 50, 60, 70, 80, 90, 100 and 4 more
    also broken: Converged in 14
    seed 10:
      Reliable: watcher-1 never received ADDED red/a (RV 11); stream 10
    artifacts in `+folder+`/failures/`+spec.Name()+`
    Reproduce with: simrun --seed 10 --scenario calm

  12 failures: Completed, example.com/cache.(*Cache).list
    panicked
    seeds: 11, 22, 33, 44, 55, 66, 77, 88, 99, 121 and 2 more
    seed 11:
      the run ended its process: seed 11: it panicked, with exit status 2: panic: no state
    Reproduce with: simrun --seed 11 --scenario calm

Inconclusive:
  9 seeds: too-little-happened writes (13, 26, 39, 52, 65, 78, 91, 104, 117)
  1 seed: two runs of the seed differ (17)
`, m.Report())
}

// What fired in every failure of a group, but not in every seed, is a likely cause.
func TestReportNamesTheFaultsOfAGroup(t *testing.T) {
	summary := campaign.NewSummary(header(9, 1, 1))
	for seed, kinds := range map[uint64][]string{
		1: {"compaction", "reset", "latency"}, 2: {"compaction", "reset"}, 3: {"compaction", "latency"}, 4: {"compaction"},
	} {
		result := verdict(seed)
		result.Faults = map[string]int{"black-hole": 0}
		for _, kind := range kinds {
			result.Faults[kind] = 1
		}
		if seed <= 2 {
			result.Outcome = "failed"
			result.Violations = verdict(10).Violations
		}
		summary.Add(result, t.TempDir())
	}
	require.Contains(t, summary.Report(), "    fired in each: reset (in 50 % of all seeds)\n")
}
