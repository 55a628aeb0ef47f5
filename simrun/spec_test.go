package simrun

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/search/mutant"
)

// specOf returns the output of `simrun spec` for some flags.
func specOf(t *testing.T, flags ...string) (spec scenario.Spec) {
	t.Helper()
	require.NoError(t, json.NewDecoder(strings.NewReader(inProcess(t, append([]string{"spec"}, flags...)...))).Decode(&spec))
	return spec
}

// A hunt gets its specs from simrun, so that it takes every flag that a run does.
func TestTheRunsOfEveryMutantAreKnown(t *testing.T) {
	for _, m := range mutant.All() {
		flags := m.Hunt
		if m.Target != "" {
			flags = append([]string{"--target", m.Target}, flags...)
		}
		require.Zero(t, specOf(t, flags...).Seed, m.Name)
	}
	spec := specOf(t, "--scenario", "pair", "--faults", "reset,partition", "--etcd-members", "3", "--operations", "77", "--duration", "90s", "--target", "kubernetes")
	require.Equal(t, "pair", spec.Scenario)
	require.Equal(t, []string{"reset", "partition"}, spec.Kinds)
	require.True(t, spec.Every)
	require.Equal(t, []int{3, 77, 90}, []int{spec.Members, spec.Operations, int(spec.Duration.Seconds())})
	require.Equal(t, "kubernetes", spec.Target)
}
