package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/mutant"
)

func TestHalvesAreReportedApart(t *testing.T) {
	bugs := map[string][]mutant.Mutant{}
	for n := 0; len(bugs[tuned]) < 3 || len(bugs[heldOut]) < 2; n++ {
		m := bug
		m.Name = fmt.Sprintf("bug-%d", n)
		bugs[halfOf(m)] = append(bugs[halfOf(m)], m)
	}
	all := append(bugs[tuned][:3:3], bugs[heldOut][:2]...)
	var results []result
	for i, m := range all {
		r := result{Mutant: m.Name, Key: keyOf(m), Trial: 1, Seconds: float64(i + 1)}
		if i != 1 && i != 3 {
			r.Found = 1
		}
		results = append(results, r)
	}
	control := bugs[tuned][0]
	control.Name, control.Equivalent = "control", "it is the same"
	results = append(results, result{Mutant: "control", Key: keyOf(control), Trial: 1, Found: 1})
	require.Equal(t, "tuned: 2 of 3 found, 67 %; in the median after 1.0 s of processor time\n"+
		"held-out: 1 of 2 found, 50 %; in the median after 5.0 s of processor time\n", sharesOf(append(all, control), results))
	require.Empty(t, sharesOf(nil, nil))
}
