package simrun

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
)

// The search ends at the first entry that differs from the first of the list, wherever that is, and
// returns a range if entries cannot be tested.
func TestHalvingFindsWhereATestTurns(t *testing.T) {
	list := []string{"a", "b", "c", "d", "e", "f", "g"}
	for _, firstIsBad := range []bool{false, true} {
		for turn := 1; turn < len(list); turn++ {
			for without := range 1 << 5 { // which of the five between cannot be tested
				untestable := func(i int) bool { return i > 0 && i < len(list)-1 && without>>(i-1)&1 == 1 }
				wantFrom, wantTo := turn-1, turn
				for untestable(wantFrom) {
					wantFrom--
				}
				for untestable(wantTo) {
					wantTo++
				}
				from, to, err := halve(list, func(version string) (bool, bool, error) {
					i := int(version[0] - 'a')
					return (i < turn) == firstIsBad, !untestable(i), nil
				}, firstIsBad)
				require.NoError(t, err)
				require.Equal(t, [2]int{wantFrom, wantTo}, [2]int{from, to}, "turn %d, without %b", turn, without)
			}
		}
	}
}

func variantOf(broken map[uint64]string) variant {
	v := variant{verdicts: map[uint64]scenario.Verdict{}}
	for seed, guarantee := range broken {
		verdict := scenario.Verdict{Seed: seed, Outcome: linearizability.Passed}
		if guarantee != "" {
			verdict.Outcome = linearizability.Failed
			verdict.Violations = []scenario.Violation{violated(guarantee), violated(guarantee)}
		}
		v.verdicts[seed] = verdict
	}
	return v
}

// A guarantee that the good version also breaks does not identify a bad one.
func TestWhatTheGoodVersionBreaksTellsNothing(t *testing.T) {
	good := variantOf(map[uint64]string{1: "", 2: "Delivered"}).broken()
	bad := variantOf(map[uint64]string{1: "Reliable", 2: "Delivered", 3: "Unique"}).broken()
	require.Equal(t, []string{"Reliable", "Unique"}, (&bisectFlags{}).telling(good, bad))
	require.Equal(t, []string{"Unique"}, (&bisectFlags{guarantee: "Unique"}).telling(good, bad))
	require.Empty(t, (&bisectFlags{guarantee: "Delivered"}).telling(good, bad))
	require.Equal(t, []uint64{1}, bad["Reliable"])
}

func TestSeedsDifferByOutcomeAndGuarantee(t *testing.T) {
	one := variantOf(map[uint64]string{1: "", 2: "Delivered", 3: "Reliable", 4: "Unique"})
	other := variantOf(map[uint64]string{1: "", 2: "", 3: "Unique", 4: "Unique", 5: ""})
	require.Equal(t, []uint64{2, 3, 5}, differing([]variant{one, other}))
	require.Equal(t, "did not run", one.verdictOf(5))
}

// git stops at 128, and would take 2 for a bad commit.
func TestWrongUseStopsGitBisect(t *testing.T) {
	for _, arguments := range [][]string{
		{"bisect", "--no-such-flag"}, {"bisect"}, {"bisect", "--seeds", "1-3"}, {"bisect", "--seeds", "1-3", "--use", "k8s.io/apiserver"},
		{"bisect", "--seeds", "1-3", "--guarantee", "none", "--use", "k8s.io/apiserver=v0.37.1"},
		{"bisect", "--seeds", "1-3", "--workers", "0", "--use", "k8s.io/apiserver=v0.37.1"},
	} {
		code, _, stderr := runHere(append(arguments, "--out", t.TempDir())...)
		require.Equal(t, exitAbort, code, stderr)
	}
}

func violated(guarantee string) (v scenario.Violation) {
	v.Guarantee = guarantee
	return v
}

// What cannot be built is reported, and does not keep the others from being compared.
func TestCompareLeavesOutWhatCannotBeBuilt(t *testing.T) {
	bad := "go.etcd.io/etcd/server/v3=../nothing"
	code, stdout, stderr := simrun(t, "compare", "--seeds", "1-2", "--target", "kubernetes", "--use", bad, "--use", "none", "--use", "none")
	require.Equal(t, exitUsage, code, stderr)
	require.Contains(t, stderr, bad+" is left out: ")
	require.Contains(t, stdout, "no seed has another verdict in one than in another")

	code, _, stderr = simrun(t, "compare", "--seeds", "1-2", "--use", bad, "--use", "none")
	require.Equal(t, exitUsage, code, stderr)
	require.Contains(t, stderr, "expected 2 variants or more that can be built, found 1")
	require.NotContains(t, stderr, "seeds run", "nothing ran in vain")
}
