package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheDocumentShowsTheseResults keeps the plot and the table of
// docs/cacher-experiment.md those of the measurements that lie beside it.
func TestTheDocumentShowsTheseResults(t *testing.T) {
	found, err := load("../../docs/cacher-experiment.json")
	require.NoError(t, err)
	picture, err := found.plot()
	require.NoError(t, err)
	require.Equal(t, string(picture), read(t, "../../docs/cacher-experiment.svg"))
	var table bytes.Buffer
	require.NoError(t, found.table(&table))
	require.Contains(t, read(t, "../../docs/cacher-experiment.md"), table.String())
}
