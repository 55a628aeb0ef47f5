package timeline

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	_ "embed" // the bundle
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
)

// The bundle that web/build.mjs makes from web/src.
var (
	//go:embed web/src/page.html
	pageHTML string
	//go:embed web/dist/timeline.js
	script string
	//go:embed web/dist/timeline.css
	style string
)

// Page is the input of a timeline. It is not changed.
type Page struct {
	// Title names the history: a run, or a file.
	Title string
	// About is what else is known about it: names and values.
	About [][2]string
	// History must be valid according to traces.Validate.
	History *model.History
	// Verdict is the oracle's verdict on the history: its witnesses point into it.
	Verdict linearizability.Verdict
	// Links lead from the page to files beside it.
	Links []Link
}

// Link leads to a file beside the page.
type Link struct {
	// File is its name, without a folder.
	File string `json:"file"`
	Text string `json:"text"`
}

// policy lets a page run its own script and use its own style, but load nothing: no
// image, font, connection, frame or form.
const policy = "default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'"

// The placeholders in page.html.
const (
	policyMark = "{{policy}}"
	styleMark  = "{{style}}"
	dataMark   = "{{data}}"
	scriptMark = "{{script}}"
)

// Write writes a page as HTML. Everything from the history is encoded as base64 in
// it.
func Write(w io.Writer, page Page) error {
	payload, err := payload(build(&page))
	if err != nil {
		return err
	}
	_, err = strings.NewReplacer(
		policyMark, fmt.Sprintf(policy, hash(script), hash(style)),
		styleMark, style, dataMark, payload, scriptMark, script,
	).WriteString(w, pageHTML)
	if err != nil {
		return fmt.Errorf("write timeline: %w", err)
	}
	return nil
}

// payload returns data as JSON, deflated, in base64.
func payload(d *data) (string, error) {
	var deflated bytes.Buffer
	out, err := flate.NewWriter(&deflated, flate.DefaultCompression)
	if err != nil {
		return "", err
	}
	if err := errors.Join(json.NewEncoder(out).Encode(d), out.Close()); err != nil {
		return "", fmt.Errorf("write timeline: %w", err)
	}
	return base64.StdEncoding.EncodeToString(deflated.Bytes()), nil
}

// hash returns the hash of an inline script or style for the policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// File is the name of the page in the folder of a run.
const File = "timeline.html"

// Recorded returns the page of a history that was read from a file.
func Recorded(name string, header traces.Header, history *model.History, verdict linearizability.Verdict) Page {
	page := Page{Title: filepath.Base(name), History: history, Verdict: verdict}
	if folder := filepath.Base(filepath.Dir(name)); strings.HasPrefix(page.Title, "history.jsonl") && folder != "." {
		page.Title = folder
	}
	if header.Target != "" {
		page.About = append(page.About, [2]string{"seed", strconv.FormatUint(header.Seed, 10)}, [2]string{"target", header.Target})
	}
	for _, name := range slices.Sorted(maps.Keys(header.Attributes)) {
		page.About = append(page.About, [2]string{name, header.Attributes[name]})
	}
	return page
}

// ReadsFile is the name of porcupine's visualisation beside a page.
const ReadsFile = "reads.html"

// The beginning of porcupine's page, and what is added to it: the colours of the
// timeline, and a link back. Porcupine has only light colours; in dark mode they are
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

// Reads returns porcupine's visualisation of the writes and reads of a history, with a
// link back to a page, and the link to it; nothing if there is nothing to draw, or too
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
