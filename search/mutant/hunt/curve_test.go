package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/mutant"
)

func TestCurvesCountTrialsByTheirTime(t *testing.T) {
	other, control := bug, bug
	other.Name = bug.Name + "-other"
	control.Name, control.Equivalent = bug.Name+"-control", "it is the same"
	trial := func(m mutant.Mutant, number int, found uint64, seconds float64) result {
		return result{Mutant: m.Name, Key: keyOf(m), Trial: number, Found: found, Seconds: seconds, Hunt: strings.Join(m.Hunt, " ")}
	}
	results := []result{trial(bug, 1, 5, 2), trial(bug, 2, 1_000_001, 20), trial(other, 1, 0, 120), trial(control, 1, 0, 1)}
	older := trial(bug, 1, 3, 1)
	older.Key, older.Hunt = "another edit", "--scenario other"
	curves := curvesOf([]mutant.Mutant{bug, other, control}, append(results, older))
	bugs := 0
	for _, c := range curves[:len(curves)-1] {
		bugs += len(c.bugs)
	}
	require.Equal(t, 2, bugs)
	require.Len(t, curves[len(curves)-1].bugs, 1)
	both := curve{bugs: [][]result{results[:2], results[2:3]}}
	for seconds, want := range map[float64]float64{1: 0, 2: 25, 19: 25, 20: 50, 120: 50} {
		require.Equal(t, want, both.at(seconds), "%v s", seconds)
	}
	picture, err := drawCurves(curves, 120)
	require.NoError(t, err)
	require.Contains(t, string(picture), "before: each bug in the scenario made for it (100 % of 1)")
}
