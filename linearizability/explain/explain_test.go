package explain_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/model"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func check(h *model.History) linearizability.Verdict {
	config := linearizability.DefaultConfig()
	config.Minimum = linearizability.Counts{}
	return linearizability.Check(h, config)
}

func TestTheStoryItselfIsCorrect(t *testing.T) {
	verdict := check(story())
	require.Empty(t, verdict.Violations)
	require.Equal(t, linearizability.Passed, verdict.Outcome, verdict.Reason)
}

// TestExplanations compares the explanation of one violation of each guarantee
// with its golden file.
func TestExplanations(t *testing.T) {
	for _, twist := range twists {
		t.Run(twist.guarantee, func(t *testing.T) {
			h := story()
			twist.inflict(h)
			violation := violationOf(t, h, twist.guarantee)
			text := explain.Text(violation.Error(), explain.New(h).Explain(violation))
			for line := range strings.Lines(text) {
				require.LessOrEqual(t, len(strings.TrimRight(line, "\n")), explain.Columns)
			}
			golden := filepath.Join("testdata", twist.guarantee+".txt")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(text), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), text, "run the test with -update if the change is meant")
		})
	}
}

func TestARevisionThatIsThereTwiceIsNoOrder(t *testing.T) {
	h := story()
	h.Truth.Changes[4].RV = h.Truth.Changes[3].RV
	paragraphs := explain.New(h).Explain(violationOf(t, h, "Revision"))
	require.Contains(t, strings.Join(paragraphs, "\n"), "Without an order of revisions nothing else can be judged.")
}

// violationOf returns the first violation of a guarantee.
func violationOf(t *testing.T, h *model.History, guarantee string) linearizability.Violation {
	violations := check(h).Violations
	i := slices.IndexFunc(violations, func(v linearizability.Violation) bool { return v.Guarantee.Name == guarantee })
	require.GreaterOrEqual(t, i, 0, "%s is not broken: %v", guarantee, violations)
	return violations[i]
}

// TestEveryRuleHasAnExplanation fails if a new guarantee has none.
func TestEveryRuleHasAnExplanation(t *testing.T) {
	explained := map[string]bool{}
	for _, twist := range twists {
		explained[twist.guarantee] = true
	}
	for _, g := range linearizability.Guarantees {
		require.True(t, g.Observed() || explained[g.Name], "no golden test explains a violation of %s: add a twist to story_test.go", g.Name)
	}
}

func TestWrap(t *testing.T) {
	long := strings.Repeat("x", 120)
	require.Equal(t, "  a\n  "+long+"\n  b c", explain.Wrap(2, "a "+long+"  b\nc"))
	require.Equal(t, "", explain.Wrap(2, " "))
	require.Equal(t, strings.Repeat("x", 50)+" "+strings.Repeat("y", 49), explain.Wrap(0, strings.Repeat("x", 50)+" "+strings.Repeat("y", 49)))
	require.Contains(t, explain.Wrap(0, strings.Repeat("x", 50)+" "+strings.Repeat("y", 50)), "\n")
}
