package timeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/traces"
)

// TestAFailureThatWasSimulatedIsShown draws a run that was recorded, as it is,
// and goes to where its guarantee breaks.
func TestAFailureThatWasSimulatedIsShown(t *testing.T) {
	file, err := traces.OpenFile("../judge/testdata/bugs/A19.jsonl.zst")
	require.NoError(t, err)
	defer file.Close()
	_, h, err := traces.ReadValidHistory(file)
	require.NoError(t, err)
	page := judged(t, h)
	require.Equal(t, linearizability.Failed, page.Verdict.Outcome)
	stream := page.Verdict.Violations[0].Witness.Stream.ID
	require.NotZero(t, stream)

	tab := shown(t, page, "")
	lanes := strings.Fields(tab.text(`[...document.querySelectorAll("[data-lane]")].map((lane) => lane.dataset.lane).join("\n")`))
	want := []string{"verdict", "faults", "etcd", fmt.Sprintf("owed:%d", stream), fmt.Sprintf("stream:%d", stream)}
	for i := range h.Streams {
		want = append(want, "server:"+h.Streams[i].Server, "client:"+h.Streams[i].Client)
	}
	require.Subset(t, lanes, want)
	for _, lane := range []string{"verdict", "faults", "etcd", "server:apiserver-0"} {
		require.Greater(t, tab.colours(lane), 3, "lane %s is empty", lane)
	}
	require.Equal(t, "FAILED", tab.text(`document.getElementById("verdict").textContent`))
	require.Contains(t, tab.details(), page.Verdict.Violations[0].Guarantee.Name)

	// The page opens on the first violation.
	tab.visit(tab.page)
	require.Equal(t, "1", tab.text(`document.documentElement.dataset.mark`))
	require.Equal(t, "watcher-0 never received MODIFIED green/b (RV 35)", tab.text(`document.querySelector("#details > :first-child").textContent`))
	showed := float64(build(&page).Marks[0].Time) / 1e9
	low, high := tab.domain()
	require.Less(t, low, showed)
	require.Greater(t, high, showed)
	require.Less(t, high-low, float64(h.End)/1e9/2, "it is gone to, not only within sight")
	require.Contains(t, tab.details(), fmt.Sprintf("stream %d on ", stream))
}
