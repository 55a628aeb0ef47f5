package timeline

import (
	"bytes"
	"fmt"
	"html"
	"net/url"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// ReadsFile is what porcupine's picture is called beside a page.
const ReadsFile = "reads.html"

// The beginning of porcupine's page, and what this page adds to it: its own colours,
// and the way back. Porcupine draws in light colours alone; in the dark they are
// inverted.
const (
	picturesHead = "</head>\n  <body>"
	inStyle      = `<style>
html { background: #fdfdfc; color: #1d2329; font-family: ui-sans-serif, system-ui, "Segoe UI", "Noto Sans", sans-serif; font-size: 14px; }
#back { position: fixed; right: 16px; top: 12px; z-index: 1; color: #1f6feb; text-decoration: none; }
#back:hover { text-decoration: underline; }
@media (prefers-color-scheme: dark) { html { filter: invert(0.92) hue-rotate(180deg); } }
</style>
`
)

// Reads returns porcupine's visualization of the writes and reads of a history, which
// leads back to a page, and the link to it; nothing if there is nothing to draw, or too
// much.
func Reads(history *model.History, config linearizability.Config, page string) ([]byte, []Link, error) {
	var picture bytes.Buffer
	drawn, err := linearizability.Picture(history, config, &picture)
	if err != nil {
		return nil, nil, fmt.Errorf("write %s: %w", ReadsFile, err)
	}
	if !drawn {
		return nil, nil, nil
	}
	back := inStyle + picturesHead + fmt.Sprintf("\n    <a id=\"back\" href=\"%s\">← Timeline</a>", html.EscapeString(url.PathEscape(page)))
	return bytes.Replace(picture.Bytes(), []byte(picturesHead), []byte(back), 1), []Link{{ReadsFile, "Porcupine’s visualization of writes and reads"}}, nil
}
