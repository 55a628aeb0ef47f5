package campaign_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/search/campaign"
)

// failure is a run that broke guarantees.
func failure(violations ...scenario.Violation) campaign.Result {
	return campaign.Result{Verdict: scenario.Verdict{Outcome: linearizability.Failed, Violations: violations}}
}

func one(guarantee, text string) campaign.Result {
	return failure(scenario.Violation{Guarantee: guarantee, Text: guarantee + ": " + text})
}

func signatureOf(t *testing.T, result campaign.Result) campaign.Signature {
	t.Helper()
	signature, ok := campaign.SignatureOf(result)
	require.True(t, ok)
	return signature
}

func TestSignatureLeavesOutWhatDiffersFromSeedToSeed(t *testing.T) {
	for name, row := range map[string]struct {
		result campaign.Result
		want   campaign.Signature
	}{
		"stream": {
			failure(lost("watcher-2", 23)),
			campaign.Signature{Guarantee: "Reliable", Place: "stream", Shape: "a change OBJECT at RV N had not arrived when a change OBJECT at RV N, received at TIME was"},
		},
		"initial block, of which several objects are missing": {
			one("Initial", "stream 150 of client informer-0 on server apiserver-0 (all objects, from RV unset, with initial events, opened at 19.8s): the initial block of 6 events is not the state at RV 20: green/a at RV 14 is missing, red/d at RV 7 is missing, and 3 more (the initial block is exactly the state); and 2 more"),
			campaign.Signature{Guarantee: "Initial", Place: "stream", Shape: "the initial block of N events is not the state at RV N: OBJECT at RV N is missing"},
		},
		"list": {
			one("Most-recent", "operation 5 of client reader-1 on server apiserver-0 (list namespace green, app=web at RV unset limit 2, 1.5s to 1m2.5s) is at RV 20 (a list without a resourceVersion)"),
			campaign.Signature{Guarantee: "Most-recent", Place: "list", Shape: "list is at RV N"},
		},
		"get of a namespace that no test has": {
			one("Any", "operation 9 of client reader-0 on server apiserver-0 (get team-7/x at RV 0, 1s to 2s) returned RV 9, which was superseded at RV 12 already (a read)"),
			campaign.Signature{Guarantee: "Any", Place: "get", Shape: "get returned RV N, which was superseded at RV N already"},
		},
		"informer": {
			one("Converged", "the informer of client informer-0 on server apiserver-0 (namespace red, last at RV 57) does not hold the last state when the run ended at 1m5.085242664s: red/d at RV 42 is missing (once)"),
			campaign.Signature{Guarantee: "Converged", Place: "informer", Shape: "the informer of client does not hold the last state when the run ended at TIME: OBJECT at RV N is missing"},
		},
		"server": {
			one("Shared", "server apiserver-1 held 3 watches on etcd for 12 watches of clients at 31.5s, when at most 1 were allowed (the number)"),
			campaign.Signature{Guarantee: "Shared", Place: "server", Shape: "server apiserver held N watches on etcd for N watches of clients at TIME, when at most N were allowed"},
		},
		"store": {
			one("Revision", "etcd accepted a compaction at revision 4 after one at 9, with 12 its last revision (the revision)"),
			campaign.Signature{Guarantee: "Revision", Place: "etcd", Shape: "etcd accepted a compaction at revision N after one at N, with N its last revision"},
		},
		"types of events, where they are the point": {
			one("Typed", "stream 2 of client watcher-2 on server apiserver-0 (all objects, from RV 1, opened at 2s): ADDED red/a at RV 9, received at 3s came instead of MODIFIED red/a at RV 9 (types)"),
			campaign.Signature{Guarantee: "Typed", Place: "stream", Shape: "ADDED OBJECT at RV N, received at TIME came instead of MODIFIED OBJECT at RV N"},
		},
		"panic": {
			verdict(22),
			campaign.Signature{Guarantee: "Completed", Place: "example.com/cache.(*Cache).list", Shape: "panic: no state"},
		},
		"deadlock": {
			failure(scenario.Violation{Guarantee: "Completed", Text: "deadlock"}),
			campaign.Signature{Guarantee: "Completed", Place: "run", Shape: "deadlock"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.want, signatureOf(t, row.result))
		})
	}
}

// One bug breaks several guarantees, and for several clients. Neither their
// order nor what else broke makes it another.
func TestSignatureIsThatOfTheFirstCause(t *testing.T) {
	reliable, another := lost("watcher-2", 23), lost("informer-0", 6)
	converged := verdict(10).Violations[0]
	want := signatureOf(t, failure(reliable))
	require.Equal(t, want, signatureOf(t, failure(converged, reliable)))
	require.Equal(t, want, signatureOf(t, failure(another, reliable, converged)))
	require.NotEqual(t, want, signatureOf(t, failure(converged)))

	bookmark := scenario.Violation{Guarantee: "Reliable", Text: "Reliable: stream 3 of client watcher-0 on server apiserver-0 (all): ADDED red/a at RV 3 never arrived, but a bookmark beyond it did (once)"}
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

// Whoever adds a guarantee decides what it is a cause of.
func TestEveryGuaranteeIsAmongTheCauses(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../linearizability/guarantees.go", nil, 0)
	require.NoError(t, err)
	found := 0
	ast.Inspect(file, func(node ast.Node) bool {
		literal, ok := node.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if name, ok := literal.Type.(*ast.Ident); ok && name.Name == "Guarantee" {
			found++
			guarantee := literal.Elts[0].(*ast.BasicLit).Value
			require.True(t, campaign.Known(guarantee[1:len(guarantee)-1]), "%s is missing from causes in signature.go", guarantee)
		}
		return true
	})
	require.Greater(t, found, 20)
}
