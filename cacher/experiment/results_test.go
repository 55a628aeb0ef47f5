package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMedians(t *testing.T) {
	r := results{Points: []point{
		{Variant: "cacher", Watches: 10, EtcdWatchers: 5},
		{Variant: "cacher", Watches: 1, EtcdWatchers: 7},
		{Variant: "kubernetes", Watches: 1, EtcdWatchers: 99},
		{Variant: "cacher", Watches: 10, EtcdWatchers: 1},
		{Variant: "cacher", Watches: 10, EtcdWatchers: 4},
	}}
	watchers := func(p point) float64 { return float64(p.EtcdWatchers) }
	groups := r.of("cacher")
	require.Len(t, groups, 2)
	require.Equal(t, 7.0, groups[0].median(watchers), "of one watch")
	require.Equal(t, 4.0, groups[1].median(watchers), "of ten")
	require.Empty(t, r.of("etcd-shared"))
}

func TestVerdict(t *testing.T) {
	good := point{Variant: "cacher", Watches: 1, Delivery: delivery{Expected: 12}}
	sentence, delivered := results{Points: []point{good, good}}.verdict()
	require.True(t, delivered)
	require.Equal(t, "all of 24 events came, once and in order", sentence)
	for _, broken := range []delivery{{Expected: 12, Missing: 1}, {Expected: 12, Wrong: 1}, {Expected: 12, Ended: 1}} {
		sentence, delivered := results{Points: []point{good, {Variant: "kubernetes", Watches: 3, Delivery: broken}}}.verdict()
		require.False(t, delivered)
		require.True(t, strings.HasPrefix(sentence, "kubernetes with 3 watches: of 12 events"), sentence)
		require.NotContains(t, sentence, "\n", "what is well is not mentioned")
	}
}

// TestArtefactsComeBeforeTheVerdict: a run that fails is the one to look at.
func TestArtefactsComeBeforeTheVerdict(t *testing.T) {
	folder, out := t.TempDir(), t.TempDir()
	broken := results{Points: []point{{Variant: "cacher", Watches: 1, Writes: 1, Delivery: delivery{Expected: 2, Missing: 1}}}}
	require.NoError(t, broken.save(folder))
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitFailed, run(t.Context(), []string{"-from", filepath.Join(folder, resultsFile), "-out", out}, &stdout, &stderr))
	require.Contains(t, stdout.String(), "of 2 events 1 did not come")
	require.FileExists(t, filepath.Join(out, plotFile))
}

// TestPlotOfFewMeasurements: zeros have no place on a logarithmic axis, and not
// every variant need be measured.
func TestPlotOfFewMeasurements(t *testing.T) {
	picture, err := results{Points: []point{{Variant: "cacher", Watches: 1, Writes: 1}}}.plot()
	require.NoError(t, err)
	decoder := xml.NewDecoder(bytes.NewReader(picture))
	for {
		_, err := decoder.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
	}
	for _, word := range []string{"NaN", "Inf"} {
		require.NotContains(t, string(picture), word)
	}
	for _, v := range variants {
		require.Contains(t, string(picture), strings.ReplaceAll(v.title, "'", "&#39;"))
	}
}

func TestResultsThatCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), resultsFile)
	for text, says := range map[string]string{
		"{":  "expected " + path + " to be the results.json of a run",
		"{}": "expected measurements in " + path + ", found none",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitFailed, run(t.Context(), []string{"-from", path, "-out", t.TempDir()}, &stdout, &stderr))
		require.Contains(t, stderr.String(), says)
		require.Empty(t, stdout.String())
	}
}
