package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/watchsim/watchsim/model"
)

// maxText is the most bytes of one string of the history in a page. Longer ones are
// truncated, and the page says so.
const maxText = 1024

// text is a string of the history. At most maxText bytes of it are written.
type text string

// MarshalText implements encoding.TextMarshaler.
func (t text) MarshalText() ([]byte, error) { return []byte(shortened(string(t))), nil }

// shortened truncates a string to maxText bytes, between characters.
func shortened(s string) string {
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes in all)", s[:end], len(s))
}

// versions are all resourceVersions of a history in increasing order. The data
// refer to them by index, so that the page can print each exactly although
// JavaScript's numbers have 53 bits.
type versions []int64

func newVersions(h *model.History) versions {
	seen := map[int64]bool{0: true, model.RVUnset: true, h.Truth.Revision: true}
	for change := range model.Each(h.Truth.Changes) {
		seen[change.RV] = true
	}
	for compaction := range model.Each(h.Truth.Compactions) {
		seen[compaction.RV] = true
	}
	for op := range model.Each(h.Operations) {
		seen[op.RV], seen[op.ResultRV], seen[op.Precondition] = true, true, true
		for object := range model.Each(op.Objects) {
			seen[object.RV] = true
		}
	}
	for s := range model.Each(h.Streams) {
		seen[s.RV] = true
		for event := range model.Each(s.Events) {
			seen[event.RV] = true
		}
	}
	for informer := range model.Each(h.Informers) {
		seen[informer.LastSyncRV] = true
	}
	for census := range model.Each(h.Censuses) {
		seen[census.Revision] = true
	}
	for window := range model.Each(h.Windows) {
		seen[window.Since], seen[window.Newest] = true, true
	}
	return slices.Sorted(maps.Keys(seen))
}

// rank returns the index of a resourceVersion of the history.
func (v versions) rank(rv int64) int {
	at, _ := slices.BinarySearch(v, rv)
	return at
}

// texts returns the resourceVersions as strings for the page.
func (v versions) texts() (texts list[string]) {
	for _, rv := range v {
		texts = append(texts, strconv.FormatInt(rv, 10))
	}
	return texts
}

// objectData is a state of an object without its RV, which what refers to it has.
type objectData struct {
	Key    text `json:"key"`
	Value  text `json:"value"`
	Labels text `json:"labels"`
	Node   text `json:"node"`
	UID    text `json:"uid"`
}

// object returns the index of a state of an object. Each is written once.
func (b *builder) object(o *model.Object) int {
	if o == nil {
		return 0
	}
	state := objectData{text(o.Key().String()), text(o.Value), text(labels(o.Labels)), text(o.Node), text(o.UID)}
	at, known := b.objects[state]
	if !known {
		at = len(b.data.Objects)
		b.objects[state] = at
		b.data.Objects = append(b.data.Objects, state)
	}
	return at
}

// labels prints labels as in a selector.
func labels(of map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		pairs = append(pairs, name+"="+of[name])
	}
	return strings.Join(pairs, ",")
}

// query describes the scope and selector of a list or watch.
func query(scope model.Scope, selector model.Selector) string {
	text := "all objects"
	switch {
	case scope.Name != "":
		text = model.Key(scope).String()
	case scope.Namespace != "":
		text = "namespace " + scope.Namespace
	}
	if of := labels(selector.Labels); of != "" {
		text += ", " + of
	}
	if selector.Node != "" {
		text += ", spec.nodeName=" + selector.Node
	}
	return text
}

// natural compares names in natural order: watcher-2 comes before watcher-10.
func natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		m, n := digits(x), digits(y)
		if m > 0 && n > 0 {
			p, q := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
			if order := cmp.Or(cmp.Compare(len(p), len(q)), strings.Compare(p, q)); order != 0 {
				return order
			}
			x, y = x[m:], y[n:]
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(a, b))
}

// digits returns how many digits a string begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
