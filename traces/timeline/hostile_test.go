package timeline

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

const (
	closing  = `</script><script>window.hacked = 1</script>`
	image    = `<img src=x onerror="window.hacked = 2">`
	quotes   = `"'` + "`" + `${window.hacked = 3}` + "\u2028\u2029\x00--><!--"
	stranger = `{{data}}{{script}}`
)

// hostile puts markup and script into all names that a cluster controls.
func hostile(t *testing.T) Page {
	h := broken(t)
	long := strings.Repeat("长", 40_000)
	for i := range h.Streams {
		stream := &h.Streams[i]
		stream.Client, stream.Message, stream.Consumer = image+stream.Client, closing, closing
		for j := range stream.Events {
			if object := stream.Events[j].Object; object != nil {
				object.Name, object.Value = object.Name+closing, quotes+object.Value
				object.Labels = map[string]string{image: long}
			}
		}
	}
	last := &h.Streams[0].Events[len(h.Streams[0].Events)-1]
	last.RV, last.Type = math.MaxInt64, image
	for i := range h.Operations {
		h.Operations[i].Server, h.Operations[i].Message = closing, image
	}
	for i := range h.Faults {
		h.Faults[i].Name, h.Faults[i].Note = image, closing
	}
	page := judged(t, h)
	page.Title, page.About = closing+image+stranger, [][2]string{{image, closing}, {"long", long}}
	page.Verdict.Reason = image
	return page
}

func TestHostileNamesStayText(t *testing.T) {
	tab := shown(t, hostile(t), "")
	look := func() {
		t.Helper()
		require.Zero(t, tab.number(`document.querySelectorAll("img").length`))
		require.EqualValues(t, 2, tab.number(`document.scripts.length`))
		require.Equal(t, "undefined", tab.text(`typeof window.hacked`))
	}
	look()
	require.Equal(t, closing+image+stranger, tab.text(`document.getElementById("title").textContent`))
	tab.keys("t")
	tab.until(`document.querySelectorAll("#table tbody tr").length > 100`)
	look()
	require.Contains(t, tab.text(`document.querySelector("#table tbody").textContent`), closing)
	tab.find("9223372036854775807\r")
	tab.until(`document.getElementById("details").textContent.includes("9223372036854775807")`)
	require.Contains(t, tab.details(), image)
	require.Contains(t, tab.details(), "bytes in all")
	look()
	for mark := range int(tab.number(`document.querySelectorAll(".found li").length`)) {
		tab.visit(tab.page + "#violation=" + string(rune('1'+mark)))
		look()
	}
}

// TestTheHistoryIsInThePageAsBase64Alone checks the file rather than the page in a
// browser.
func TestTheHistoryIsInThePageAsBase64Alone(t *testing.T) {
	var content strings.Builder
	require.NoError(t, Write(&content, hostile(t)))
	for _, text := range []string{"hacked", "onerror", "长", "pod-1", "apiserver-1", "watcher-0"} {
		require.False(t, strings.Contains(content.String(), text), text)
	}
	require.True(t, regexp.MustCompile(`<script type="application/octet-stream" id="data">[A-Za-z0-9+/=]+</script>`).MatchString(content.String()))
}

// TestThePolicyForbidsRequests tries what an injected script would try.
func TestThePolicyForbidsRequests(t *testing.T) {
	path, _ := saved(t, judged(t, broken(t)))
	tab := open(t, "file://"+path)
	tab.number(`window.refused = []; document.addEventListener("securitypolicyviolation", (event) => window.refused.push(event.effectiveDirective));
		fetch("https://watchsim.invalid/").catch(() => {});
		document.body.append(Object.assign(new Image(), { src: "https://watchsim.invalid/image" }));
		document.body.append(Object.assign(document.createElement("script"), { textContent: "window.hacked = 1" }));
		document.body.append(Object.assign(document.createElement("iframe"), { src: "https://watchsim.invalid/frame" })); 0`)
	tab.until(`window.refused.length >= 4`)
	require.Equal(t, "connect-src frame-src img-src script-src-elem", tab.text(`[...window.refused].sort().join(" ")`))
	require.Equal(t, "undefined", tab.text(`typeof window.hacked`))
}

func TestPorcupinesPictureTakesNoMarkup(t *testing.T) {
	h := broken(t)
	for i := range h.Truth.Changes {
		h.Truth.Changes[i].Object.Name += image
	}
	for i := range h.Operations {
		if h.Operations[i].Object != nil {
			h.Operations[i].Object.Name += image
		}
	}
	picture, links, err := Reads(h, linearizability.DefaultConfig(), File)
	require.NoError(t, err)
	require.Len(t, links, 1)
	require.Contains(t, string(picture), `<a id="back" href="timeline.html">`)
	require.Contains(t, string(picture), "pod-1‹img src=x")
	require.NotContains(t, string(picture), "<img src=x")
	require.NotContains(t, string(picture), `\u003cimg`)
	none, links, err := Reads(&model.History{}, linearizability.DefaultConfig(), File)
	require.NoError(t, err)
	require.Empty(t, none)
	require.Empty(t, links)
}
