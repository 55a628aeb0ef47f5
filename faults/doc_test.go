package faults

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheCatalogueHasEveryKindAndPoint compares docs/faults.md with the code.
func TestTheCatalogueHasEveryKindAndPoint(t *testing.T) {
	text, err := os.ReadFile("../docs/faults.md")
	require.NoError(t, err)
	rows := map[string]string{} // by the first word in backquotes
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for name := range strings.SplitSeq(cells[1], ",") {
				rows[strings.Trim(name, " `")] = line
			}
		}
	}
	for _, kind := range Kinds() {
		row := rows[kind.Name]
		require.NotEmpty(t, row, "%s has no row", kind.Name)
		for _, parameter := range kind.Parameters {
			require.Contains(t, row, "`"+parameter.Name+"`", kind.Name)
		}
	}
	for _, point := range Points() {
		require.NotEmpty(t, rows[point.Name], "point %s has no row", point.Name)
	}
}
