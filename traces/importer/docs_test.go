package importer

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/traces"
	"github.com/watchsim/watchsim/traces/judge"
)

// words returns the words of a text, so that line breaks do not matter.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// TestTheGuideShowsWhatIsPrinted compares docs/debugging-stale-reads.md with the output
// for the examples in testdata.
func TestTheGuideShowsWhatIsPrinted(t *testing.T) {
	text, err := os.ReadFile("../../docs/debugging-stale-reads.md")
	require.NoError(t, err)
	guide := words(string(text))

	file, err := os.Open("testdata/two-servers/recorded.jsonl")
	require.NoError(t, err)
	defer file.Close()
	header, h, err := traces.ReadValidHistory(file)
	require.NoError(t, err)
	v := judge.RealCluster(h)
	v.File, v.Attributes = "recorded.jsonl", header.Attributes
	_, after, found := strings.Cut(v.Report(), "judged in ") // how long that took is never the same
	require.True(t, found)
	_, after, _ = strings.Cut(after, " ms, ")
	require.Contains(t, guide, words(after))
	v.Demand(100 * time.Millisecond)
	require.Contains(t, guide, v.Violations[0].Text)

	header, h, notes, err := Import(lostEvent, Options{EtcdFrom: 2, HistoryOptions: HistoryOptions{ClockSkew: 10 * time.Millisecond}})
	require.NoError(t, err)
	require.Len(t, notes, 1)
	require.Contains(t, guide, "left out: "+notes[0])
	v = judge.RealCluster(h)
	v.Attributes = header.Attributes
	sentence, _, _ := strings.Cut(v.Violations[0].Text, " (a list is")
	require.Contains(t, guide, sentence)
	for _, paragraph := range v.Violations[0].Explanation {
		require.Contains(t, guide, words(paragraph))
	}
	_, after, found = strings.Cut(v.Report(), "stale reads, ")
	require.True(t, found)
	require.Contains(t, guide, words(after))
}
