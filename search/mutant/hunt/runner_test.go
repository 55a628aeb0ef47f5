package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/search/mutant"
)

// simrun provides the spec: every flag is accepted, and a bad one is reported with its message.
func TestSimrunSaysWhatTheRunsAre(t *testing.T) {
	script := func(text string) func(context.Context, mutant.Mutant) (scenario.Spec, error) {
		path := filepath.Join(t.TempDir(), "simrun")
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
		return asked(path)
	}
	m := mutant.Mutant{Name: "bug", Target: "kubernetes", Hunt: []string{"--scenario", "pair"}}
	spec, err := script(`test "$*" = "spec --scenario pair --target kubernetes" && echo '{"scenario": "pair", "target": "kubernetes"}'`)(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, "pair", spec.Scenario)
	_, err = script("echo 'simrun: unknown scenario' >&2; exit 2")(t.Context(), m)
	require.EqualError(t, err, "the runs of bug, `--scenario pair`: unknown scenario")
	_, err = script(`echo '{"target": "etcd-3.5"}'`)(t.Context(), m)
	require.ErrorContains(t, err, "found the release etcd-3.5")
}
