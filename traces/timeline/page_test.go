package timeline

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
)

// domain returns what is on screen.
func (tab *tab) domain() (low, high float64) {
	tab.t.Helper()
	words := strings.Fields(tab.text(`document.documentElement.dataset.domain`))
	require.Len(tab.t, words, 2)
	low, err := strconv.ParseFloat(words[0], 64)
	require.NoError(tab.t, err)
	high, err = strconv.ParseFloat(words[1], 64)
	require.NoError(tab.t, err)
	return low, high
}

func (tab *tab) details() string { return tab.text(`document.getElementById("details").innerText`) }

// colours counts the colours in the row of a lane, which has to be on screen. It is
// 0 for a lane of etcd, a leader, a server, a window or a stream that lacks what is
// drawn there.
func (tab *tab) colours(lane string) int {
	tab.t.Helper()
	return int(tab.number(fmt.Sprintf(`(() => {
		const canvas = document.getElementById("canvas"), row = document.querySelector('[data-lane="%[1]s"]').getBoundingClientRect();
		const top = Math.ceil(row.top - canvas.getBoundingClientRect().top);
		const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, top, canvas.width, Math.floor(row.height) - 2).data.buffer);
		// The blue of the line of a server, and of what is MODIFIED: #2f66b3, the bytes of which stand the other way round.
		const blue = /^(etcd|leader|server|window|stream)/.test('%[1]s') && !pixels.includes(0xffb3662f);
		return blue ? 0 : new Set(pixels).size;
	})()`, lane)))
}

func TestThePageShowsEveryLane(t *testing.T) {
	tab := shown(t, judged(t, broken(t)), "")
	lanes := tab.text(`[...document.querySelectorAll("[data-lane]")].map((lane) => lane.dataset.lane).join("\n")`)
	require.Equal(t, strings.Join([]string{
		"verdict", "faults", "etcd", "leader", "server:apiserver-0", "window:apiserver-0", "server:apiserver-1", "window:apiserver-1", "client:reader", "client:watcher-0", "stream:61",
		"client:watcher-1", "owed:62", "stream:62", "client:watcher-2", "stream:63", "client:watcher-3", "stream:64", "client:writer",
	}, "\n"), lanes)
	for _, lane := range strings.Split(lanes, "\n") {
		if !strings.HasPrefix(lane, "client:watcher-") { // those ask for nothing but their streams
			require.Greater(t, tab.colours(lane), 3, "lane %s is empty", lane)
		}
	}
	require.Contains(t, tab.text(`document.title`), "a history")
	require.Equal(t, "FAILED", tab.text(`document.getElementById("verdict").textContent`))
	require.Contains(t, tab.details(), "Reliable")
}

func TestTheAxesAreToggled(t *testing.T) {
	tab := shown(t, judged(t, broken(t)), "")
	ticks := func() string {
		return tab.text(`[...document.querySelectorAll("#axis text")].map((tick) => tick.textContent).join(" ")`)
	}
	require.Regexp(t, regexp.MustCompile(`^0 s 10 s `), ticks())
	tab.click("#axis-rv")
	tab.until(`document.documentElement.dataset.axis === "rv"`)
	require.Regexp(t, regexp.MustCompile(`^10 20 30 `), ticks())
	low, high := tab.domain()
	require.InDelta(t, 1, low, 3)
	require.InDelta(t, 61, high, 3)
	require.Greater(t, tab.colours("stream:61"), 3)
	tab.until(`location.hash.startsWith("#rv=")`)
	tab.keys("x")
	tab.until(`document.documentElement.dataset.axis === "time"`)
}

// TestAGapInVersionsIsABreakOfTheAxis has a history in which etcd skipped a thousand.
func TestAGapInVersionsIsABreakOfTheAxis(t *testing.T) {
	var text strings.Builder
	require.NoError(t, traces.WriteHistory(&text, traces.Header{}, broken(t)))
	version := regexp.MustCompile(`"(rv|resultRV|since|newest|revision|lastSyncRV|precondition)":(\d+)`)
	bumped := version.ReplaceAllStringFunc(text.String(), func(field string) string {
		parts := version.FindStringSubmatch(field)
		if rv, err := strconv.Atoi(parts[2]); err == nil && rv > 40 {
			return fmt.Sprintf(`"%s":%d`, parts[1], rv+1000)
		}
		return field
	})
	_, h, err := traces.ReadValidHistory(strings.NewReader(bumped))
	require.NoError(t, err)
	tab := shown(t, judged(t, h), "#axis=rv")
	ticks := tab.text(`[...document.querySelectorAll("#axis text")].map((tick) => tick.textContent).join(" | ")`)
	require.Contains(t, ticks, "41–1,040 skipped")
	require.Contains(t, ticks, "10 | ")
	require.Contains(t, ticks, "1,050")
	low, high := tab.domain()
	require.Less(t, high-low, 90.0, "what is known fills the screen")
	tab.visit(tab.page + "#rv=1050&span=6")
	tab.until(`document.getElementById("range").textContent.startsWith("RV 1047 to RV 1053")`)
	low, high = tab.domain()
	require.InDelta(t, 6, high-low, 0.01)
	require.Greater(t, tab.colours("stream:61"), 3)
}

func TestAddressesLeadToMoments(t *testing.T) {
	tab := shown(t, judged(t, broken(t)), "#violation=1")
	require.Equal(t, "1", tab.text(`document.documentElement.dataset.mark`))
	require.Contains(t, tab.details(), "stream 62 on apiserver-1, opened at")
	sides := tab.text(`[...document.querySelectorAll(".sides tr.wrong td")].map((cell) => cell.textContent).join(" | ")`)
	require.Equal(t, "32 | MODIFIED default/pod-1 | — never received", sides)
	// The change was committed at 31 s, and the next event came at 32 s.
	low, high := tab.domain()
	require.Greater(t, low, 20.0)
	require.Less(t, low, 31.0)
	require.Greater(t, high, 32.0)
	require.Less(t, high, 40.0)

	tab.visit(tab.page + "#t=12.5&span=4")
	low, high = tab.domain()
	require.InDelta(t, 10.5, low, 0.01)
	require.InDelta(t, 14.5, high, 0.01)

	tab.visit(tab.page + "#rv=32&span=10")
	require.Equal(t, "rv", tab.text(`document.documentElement.dataset.axis`))
	low, high = tab.domain()
	require.InDelta(t, 27, low, 0.01)
	require.InDelta(t, 37, high, 0.01)

	// The address follows what is on screen, and leads there again.
	tab.click("#zoom-in")
	tab.until(`location.hash === "#rv=32.000&span=5"`)
	tab.visit(tab.page + "#violation=99&t=x")
	require.Equal(t, "0", tab.text(`document.documentElement.dataset.mark`))
}

func TestKeysAndSearch(t *testing.T) {
	tab := shown(t, judged(t, broken(t)), "")
	tab.onLanes()
	tab.keys("v")
	tab.until(`document.documentElement.dataset.mark === "1"`)
	before, _ := tab.domain()
	tab.keys("wa")
	tab.until(fmt.Sprintf(`Math.abs(Number(document.documentElement.dataset.domain.split(" ")[0]) - %g) > 0.1`, before))

	// What is on screen as a table, rows of which can be followed.
	tab.keys("0t")
	tab.until(`document.querySelectorAll("#table tbody tr").length > 300`)
	require.Contains(t, tab.text(`document.querySelector("#table tbody").innerText`), "etcd compacted at RV 10")
	require.Contains(t, tab.text(`document.querySelector("#table tr.wrong").innerText`), "violation of Reliable")
	tab.keys("t")

	tab.keys("/")
	tab.until(`document.activeElement.id === "search"`)
	tab.find("stream 63")
	tab.until(`document.getElementById("found").textContent === "1 found"`)
	tab.keys("\r")
	tab.until(`document.getElementById("details").innerText.includes("watcher-2")`)
	tab.find("pod-1")
	tab.until(`/^\d+ found$/.test(document.getElementById("found").textContent)`)
	// 12 changes and as many writes; four streams with 12 events, of which one never came.
	require.Equal(t, "71 found", tab.text(`document.getElementById("found").textContent`))

	// Without a pointer: to a lane, and along it.
	tab.keys(kb.Escape)
	tab.onLanes()
	tab.keys("0" + kb.Escape)
	lane := ""
	for range 20 {
		if lane = tab.text(`document.getElementById("status").textContent`); lane == "61 apiserver-0 · default/* · from RV 1" {
			break
		}
		tab.keys(kb.ArrowUp)
	}
	require.Equal(t, "61 apiserver-0 · default/* · from RV 1", lane)
	tab.keys(kb.ArrowRight)
	tab.until(`document.getElementById("status").textContent === "1.002 seconds: ADDED default/pod-1 at RV 2"`)
	tab.keys(kb.ArrowRight)
	tab.until(`document.getElementById("status").textContent === "2.002 seconds: ADDED default/pod-2 at RV 3"`)
}

func TestLightAndDark(t *testing.T) {
	tab := shown(t, judged(t, broken(t)), "")
	ground := func() string {
		return tab.text(`(() => { const c = document.getElementById("canvas"); return c.getContext("2d").getImageData(3, c.height - 3, 1, 1).data.slice(0, 3).join(","); })()`)
	}
	require.Equal(t, "253,253,252", ground())
	call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	})
	require.Eventually(t, func() bool { return ground() == "21,24,28" }, patience, 1e7)
	tab.click("#theme")
	require.Eventually(t, func() bool { return ground() == "253,253,252" }, patience, 1e7)
}

// TestAHistoryThatSomebodyElseRecorded has no truth and no faults, and nothing of
// leaders and caches.
func TestAHistoryThatSomebodyElseRecorded(t *testing.T) {
	h := broken(t)
	h.Truth, h.Faults, h.Censuses, h.Leaders, h.Windows = model.Truth{}, nil, nil, nil, nil
	page := judged(t, h)
	page.Verdict = linearizability.Verdict{Outcome: linearizability.Inconclusive, Reason: "the history does not say what etcd committed"}
	tab := shown(t, page, "#t=55&span=20")
	require.Contains(t, tab.text(`document.querySelector('[data-lane="etcd"]').innerText`), "not recorded")
	require.Greater(t, tab.colours("server:apiserver-1"), 3)
	require.Greater(t, tab.colours("stream:61"), 3)
	require.Zero(t, tab.number(`document.querySelectorAll('[data-lane="leader"], [data-lane^="window:"]').length`))
	// The second list was behind what other clients had been told.
	tab.find("operation 902\r")
	tab.until(`document.getElementById("details").innerText.includes("behind: RV 55 was known then, 14 more, and RV 41 out of date since 41.001000 s")`)
}

// TestAnEmptyHistory shows at least its frame.
func TestAnEmptyHistory(t *testing.T) {
	tab := shown(t, judged(t, &model.History{}), "")
	require.Equal(t, "etcd", tab.text(`[...document.querySelectorAll("[data-lane]")].map((lane) => lane.dataset.lane).join()`))
}

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
	showed := build(&page).Marks[0].Time
	low, high := tab.domain()
	require.Less(t, low, showed)
	require.Greater(t, high, showed)
	require.Less(t, high-low, float64(h.End)/1e9/2, "it is gone to, not only within sight")
	require.Contains(t, tab.details(), fmt.Sprintf("stream %d on ", stream))
}
