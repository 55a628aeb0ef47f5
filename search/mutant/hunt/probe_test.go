package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/search/mutant"
)

func TestPlacesThatNoRunReachesAreNamed(t *testing.T) {
	h := newHunter(t, failing(), failing())
	h.options.probe = 3
	several := bug
	several.Name, several.More = "several", []mutant.Edit{{Anchor: "c", Replacement: "d"}, {Anchor: "e", Replacement: "e f"}}
	path := filepath.Join(t.TempDir(), "counts")
	probes, err := mutant.NewProbes(path, []mutant.Mutant{bug, several})
	require.NoError(t, err)
	h.probes = probes
	ran := byte(0)
	h.run = func(context.Context, string, scenario.Spec) (verdict, time.Duration, error) {
		ran++
		counts := make([]byte, 4*8)
		counts[0], counts[8] = 5*ran, 1 // the edit of bug each time, the first of several in the first run
		return verdict{}, 0, os.WriteFile(path, counts, 0o600)
	}
	unreached, err := h.probe(t.Context(), []mutant.Mutant{bug, several})
	require.NoError(t, err)
	require.EqualValues(t, 3, ran, "runs that two mutants name are made once")
	require.Equal(t, []string{"several, edit 2 of 3 is never reached"}, unreached)
	text := h.stdout.(*bytes.Buffer).String()
	require.Contains(t, text, "bug                      reached 15 times, in 3 of 3 runs of --scenario calm\n")
	require.Contains(t, text, "several, edit 1 of 3     reached once, in 1 of 3 runs of --scenario calm\n")
	require.Contains(t, text, "several, edit 2 of 3     reached 0 times: none of 3 runs")
}
