package timeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// lane goes to a lane by the keyboard, and returns what is said of it.
func (tab *tab) lane(label string) {
	tab.t.Helper()
	tab.onLanes()
	said := func() string { return tab.text(`document.getElementById("status").textContent`) }
	for range 40 {
		tab.keys(kb.ArrowUp)
	}
	for range 40 {
		if strings.HasPrefix(said(), label) {
			return
		}
		tab.keys(kb.ArrowDown)
	}
	require.FailNow(tab.t, "no such lane", label)
}

// row is the text of the first row of the table that has some words in it.
func (tab *tab) row(words string) string {
	tab.t.Helper()
	return tab.text(fmt.Sprintf(`[...document.querySelectorAll("#table tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent).join(" | ")).find((text) => text.includes(%q)) ?? ""`, words))
}

func TestTheLeaderIsShownInText(t *testing.T) {
	tab := shown(t, judged(t, broken(t)), "")
	tab.lane("Leader of etcd, 2 changes")
	for _, step := range []string{
		"0.000 seconds: etcd-0 leads etcd, term 2", "10.000 seconds: no member leads etcd", "12.000 seconds: etcd-1 leads etcd, term 3",
	} {
		tab.keys(kb.ArrowRight)
		tab.until(fmt.Sprintf(`document.getElementById("status").textContent === %q`, step))
	}
	details := tab.details()
	for _, part := range []string{"etcd-1", "term\n3", "from\n12.000000 s", "to\n91.000000 s"} {
		require.Contains(t, details, part)
	}
	tab.find("etcd-1\r")
	tab.until(`document.getElementById("found").textContent === "1 of 1"`)
	tab.keys(kb.Escape + kb.Escape)
	tab.onLanes()
	tab.keys("0t")
	tab.until(`document.querySelectorAll("#table tbody tr").length > 300`)
	require.Equal(t, "10.000000 s |  | etcd | no member leads etcd", tab.row("no member leads"))
}

func TestTheWindowIsShownInText(t *testing.T) {
	tab := shown(t, judged(t, broken(t)), "#t=39&span=6")
	require.Greater(t, tab.colours("window:apiserver-1"), 3)
	tab.lane("window of apiserver-1")
	for _, step := range []string{
		"36.001 seconds: window from RV 7 to RV 37", "37.001 seconds: window from RV 8 to RV 38", "38.001 seconds: window from RV 9 to RV 39",
		"39.001 seconds: window from RV 10 to RV 40", "40.001 seconds: the cache is not ready", "40.401 seconds: window from RV 41 to RV 41, refilled",
	} {
		tab.keys(kb.ArrowRight)
		tab.until(fmt.Sprintf(`document.getElementById("status").textContent === %q`, step))
	}
	details := tab.details()
	for _, part := range []string{
		"cache of\napiserver-1", "a watch can go on from RV 41; one from before gets a 410", "everything is known up to RV 41",
		"2 times since the server started", "from\n40.401000 s", "to\n41.001000 s",
	} {
		require.Contains(t, details, part)
	}
	tab.find("refilled\r")
	tab.until(`document.getElementById("found").textContent === "1 of 2"`)

	tab.click("#axis-rv")
	tab.until(`document.documentElement.dataset.axis === "rv"`)
	require.Greater(t, tab.colours("window:apiserver-1"), 3)
	tab.keys(kb.Escape)
	tab.visit(tab.page + "#t=40&span=4")
	tab.onLanes()
	tab.keys("t")
	tab.until(`document.querySelectorAll("#table tbody tr").length > 3`)
	require.Equal(t, "40.401000 s | 41 | apiserver-0 | window from RV 41 to RV 41, refilled", tab.row("refilled"))
}

// TestACacheThatDoesNotTell has a lane that says so.
func TestACacheThatDoesNotTell(t *testing.T) {
	h := broken(t)
	h.Windows = following(h, "apiserver-0", 1, 0)
	tab := shown(t, judged(t, h), "")
	require.Contains(t, tab.text(`document.querySelector('[data-lane="window:apiserver-1"]').innerText`), "not recorded")
	require.NotContains(t, tab.text(`document.querySelector('[data-lane="window:apiserver-0"]').innerText`), "not recorded")
}
