package campaign_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/search/campaign"
)

// failure is a run that broke guarantees.
func failure(violations ...scenario.Violation) campaign.Result {
	return campaign.Result{Verdict: scenario.Verdict{Outcome: linearizability.Failed, Violations: violations}}
}

func one(report linearizability.Report) campaign.Result {
	return failure(scenario.Violation{Report: report})
}

func signatureOf(t *testing.T, result campaign.Result) campaign.Signature {
	t.Helper()
	signature, ok := campaign.SignatureOf(result)
	require.True(t, ok)
	return signature
}

func TestSignatureLeavesOutWhatDiffersFromSeedToSeed(t *testing.T) {
	type report = linearizability.Report
	for name, row := range map[string]struct {
		result campaign.Result
		want   campaign.Signature
	}{
		"stream": {failure(lost("watcher-2", 23)), campaign.Signature{Guarantee: "Reliable", Place: "stream", Shape: "missing-event"}},
		"state that lacks objects and has old ones": {
			one(report{Guarantee: "Initial", Code: "wrong-initial-events", Subject: "stream", Stream: 150, Flaws: []string{"missing", "stale"}, Expected: 20, More: 2}),
			campaign.Signature{Guarantee: "Initial", Place: "stream", Shape: "wrong-initial-events missing stale"},
		},
		"list": {
			one(report{Guarantee: "Most-recent", Code: "stale-read", Subject: "list", Operations: []int{5, 4}, RVs: []int64{20, 21}}),
			campaign.Signature{Guarantee: "Most-recent", Place: "list", Shape: "stale-read"},
		},
		"types of events, where they are the point": {
			one(report{Guarantee: "Typed", Code: "wrong-type", Subject: "stream", Event: &linearizability.Arrived{Type: model.Added, RV: 9}, Owed: &linearizability.Arrived{Type: model.Modified, RV: 9}}),
			campaign.Signature{Guarantee: "Typed", Place: "stream", Shape: "wrong-type ADDED instead of MODIFIED"},
		},
		"panic":    {verdict(22), campaign.Signature{Guarantee: "Completed", Place: "example.com/cache.(*Cache).list", Shape: "panicked"}},
		"deadlock": {failure(scenario.Unfinished("deadlock", "", "")), campaign.Signature{Guarantee: "Completed", Place: "run", Shape: "deadlock"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.want, signatureOf(t, row.result))
		})
	}
}

// One bug breaks several guarantees, for several clients. Their order, and what else broke, do not
// change the signature.
func TestSignatureIsThatOfTheFirstCause(t *testing.T) {
	reliable, another := lost("watcher-2", 23), lost("informer-0", 6)
	converged := verdict(10).Violations[0]
	want := signatureOf(t, failure(reliable))
	require.Equal(t, want, signatureOf(t, failure(converged, reliable)))
	require.Equal(t, want, signatureOf(t, failure(another, reliable, converged)))
	require.NotEqual(t, want, signatureOf(t, failure(converged)))

	bookmark := scenario.Violation{Report: linearizability.Report{Guarantee: "Reliable", Code: "promised-event-missing", Subject: "stream"}}
	require.Equal(t, signatureOf(t, failure(bookmark, reliable)), signatureOf(t, failure(reliable, bookmark)))
	require.NotEqual(t, want, signatureOf(t, failure(bookmark)), "the same guarantee, but another shape")
}

func TestOnlyFailuresHaveASignature(t *testing.T) {
	for _, outcome := range []linearizability.Outcome{linearizability.Passed, linearizability.Inconclusive} {
		result := campaign.Result{Verdict: scenario.Verdict{Outcome: outcome}}
		_, ok := campaign.SignatureOf(result)
		require.False(t, ok)
		result.NotDeterministic = "two hashes"
		_, ok = campaign.SignatureOf(result)
		require.True(t, ok, "a seed that failed once, and then did not")
	}
}
