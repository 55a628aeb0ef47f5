package judge_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/traces/judge"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// minBugs is the minimum number of bugs.
const minBugs = 15

// TestBugsAreExplained compares the reports of recorded failures, one of each bug, with
// golden files. docs/track-record.md describes the bugs. The histories are of runs that
// `simrun shrink` has minimised, and do not change with the code.
func TestBugsAreExplained(t *testing.T) {
	files, err := filepath.Glob("testdata/bugs/*.jsonl.zst")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), minBugs)
	config := linearizability.DefaultConfig()
	config.Minimum = linearizability.Counts{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl.zst")
		t.Run(name, func(t *testing.T) {
			verdict := judge.File(file, nil, config)
			require.Empty(t, verdict.Error)
			require.Equal(t, linearizability.Failed, verdict.Outcome, "the oracle does not see the bug any more: %s", verdict.Reason)
			verdict.CheckSeconds = 0 // the only thing that differs from time to time
			text := verdict.Explanation()
			for line := range strings.Lines(text) {
				require.LessOrEqual(t, len(strings.TrimRight(line, "\n")), explain.Columns, line)
			}
			for _, violation := range verdict.Violations {
				require.NotEmpty(t, violation.Slice, violation.Text)
			}
			golden := filepath.Join("testdata/bugs", name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(text), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), text, "run the test with -update if the change is meant")
		})
	}
}
