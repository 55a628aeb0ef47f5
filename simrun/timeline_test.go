package simrun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTimelineIsWrittenWhereItIsAskedFor: beside the history, or to a file.
func TestTimelineIsWrittenWhereItIsAskedFor(t *testing.T) {
	text, folder := content(t, exampleHistory), t.TempDir()
	history := filepath.Join(folder, "history.jsonl")
	require.NoError(t, os.WriteFile(history, []byte(text), 0o600))
	for name, row := range map[string]struct {
		arguments []string
		stdin     string
		page      string
	}{
		"a file":         {[]string{history}, "", filepath.Join(folder, "timeline.html")},
		"a folder":       {[]string{folder, "-o", filepath.Join(folder, "of-folder.html")}, "", filepath.Join(folder, "of-folder.html")},
		"standard input": {[]string{"-", "-o", filepath.Join(folder, "of-stdin.html")}, text, filepath.Join(folder, "of-stdin.html")},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			code := run(append([]string{"timeline"}, row.arguments...), strings.NewReader(row.stdin), &stdout, &stderr)
			require.Zero(t, code, stderr.String())
			require.Contains(t, stdout.String(), row.page)
			require.Contains(t, content(t, row.page), "Content-Security-Policy")
			require.FileExists(t, filepath.Join(folder, "reads.html"))
		})
	}
}
