package campaign_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/search/campaign"
)

// header returns the header of one shard of a campaign over the seeds 1 to last.
func header(last uint64, index, count int) campaign.Header {
	spec := scenario.Spec{Scenario: "calm", Target: "cacher", Members: 1, Servers: 1, Kinds: []string{}, Seed: 77}
	return campaign.NewHeader(spec, 1, last, campaign.Shard{Index: index, Count: count}, "b17d", "go1.26.8", "simrun --seed {seed} --scenario calm")
}

// verdict invents a verdict as a function of the seed.
func verdict(seed uint64) campaign.Result {
	result := campaign.Result{Verdict: scenario.Verdict{
		Seed: seed, Scenario: "calm", Target: "cacher", Outcome: linearizability.Passed,
		Hash: fmt.Sprintf("%016x", seed), SimulatedSeconds: 60.0004 + float64(seed)/7, Operations: 200, WatchEvents: 100,
		Faults: map[string]int{"reset": int(seed % 3), "compaction": 1}, Violations: []scenario.Violation{},
	}}
	switch {
	case seed%10 == 0:
		result.Outcome = linearizability.Failed
		result.Violations = []scenario.Violation{
			{Report: linearizability.Report{Guarantee: "Converged", Code: "informer-differs", Subject: "informer", Client: "informer-0",
				RVs: []int64{int64(seed)}, Flaws: []string{"missing"}, Text: fmt.Sprintf("Converged: informer-0's store, at RV %d, does not hold the last state", seed)}},
			lost("watcher-1", seed),
		}
	case seed%11 == 0:
		result.Outcome = linearizability.Failed
		result.Violations = []scenario.Violation{
			scenario.Unfinished("panicked", fmt.Sprintf("the run ended its process: seed %d: it panicked, with exit status 2: panic: no state\n\ngoroutine %d [running]:\npanic({0x1, 0x2})\n\t/usr/local/go/panic.go:1\nexample.com/cache.(*Cache).list(0xc000%d)\n\t/src/cache.go:9", seed, seed, seed), "example.com/cache.(*Cache).list"),
		}
	case seed%13 == 0:
		result.Outcome = linearizability.Inconclusive
		result.Reasons = []linearizability.Reason{{Code: linearizability.TooLittleHappened, Of: "writes", Text: fmt.Sprintf("%d writes of at least 10", seed%10)}}
	case seed == 17:
		result.NotDeterministic = "seed 17: expected the hash 1, found 2"
	}
	return result
}

// lost is the violation of a stream that lost an event.
func lost(client string, seed uint64) scenario.Violation {
	return scenario.Violation{Report: linearizability.Report{Guarantee: "Reliable", Code: "missing-event", Subject: "stream", Client: client,
		Event: &linearizability.Arrived{Type: model.Deleted, RV: int64(seed + 2)}, Owed: &linearizability.Arrived{Type: model.Added, RV: int64(seed + 1)},
		Text: fmt.Sprintf("Reliable: %s never received ADDED red/a (RV %d); stream %d", client, seed+1, seed)}}
}

// write writes the results of a shard, in the given order of seeds.
func write(t *testing.T, folder string, h campaign.Header, seeds ...uint64) {
	t.Helper()
	file, err := campaign.Open(folder, h, func(campaign.Result) {})
	require.NoError(t, err)
	for _, seed := range seeds {
		require.NoError(t, file.Append(verdict(seed)))
	}
	require.NoError(t, file.Close())
}

// seedsOf returns all seeds of a shard, odd ones first as with two workers.
func seedsOf(h campaign.Header) []uint64 {
	var odd, even []uint64
	for seed := h.First; seed <= h.Last; seed++ {
		switch {
		case !h.Owns(seed):
		case seed/uint64(h.Count)%2 == 1:
			odd = append(odd, seed)
		default:
			even = append(even, seed)
		}
	}
	return append(odd, even...)
}
