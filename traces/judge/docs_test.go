package judge

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
)

// TestTheDocumentationIsRight judges the history in docs/history-format.md, and compares
// the error that it quotes.
func TestTheDocumentationIsRight(t *testing.T) {
	text, err := os.ReadFile("../../docs/history-format.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(text), "```json\n")
	require.True(t, found)
	shown, _, found := strings.Cut(after, "```")
	require.True(t, found)
	v := fromStdin(shown)
	require.Empty(t, v.Error)
	require.Equal(t, linearizability.Passed, v.Outcome, v.Reason)
	require.EqualValues(t, 1, v.WatchEvents)

	broken := fromStdin(strings.Replace(example(t), `"return":3000000`, `"return":5`, 1))
	_, sentence, _ := strings.Cut(broken.Error, "standard input: ")
	require.NotEmpty(t, sentence)
	require.Contains(t, string(text), "simrun: broken.jsonl: "+sentence+"\n")
}
