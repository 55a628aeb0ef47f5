package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/search/mutant"
)

// simrun provides the spec: every flag is accepted, and a bad one is reported with its message.
func TestSimrunSaysWhatTheRunsAre(t *testing.T) {
	m := mutant.Mutant{Name: "bug", Target: "kubernetes", Hunt: []string{"--scenario", "pair"}}
	spec, err := asked(script(t, `test "$*" = "spec --scenario pair --target kubernetes" && echo '{"scenario": "pair", "target": "kubernetes"}'`))(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, "pair", spec.Scenario)
	_, err = asked(script(t, "echo 'simrun: unknown scenario' >&2; exit 2"))(t.Context(), m)
	require.EqualError(t, err, "the runs of bug, `--scenario pair`: unknown scenario")
	_, err = asked(script(t, `echo '{"target": "etcd-3.5"}'`))(t.Context(), m)
	require.ErrorContains(t, err, "found the release etcd-3.5")
}
