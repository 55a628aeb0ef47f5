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

// interned are the distinct strings of a page; everything else refers to them by
// index. The first is the empty string.
type interned struct {
	texts []string
	index map[string]int
}

func newInterned() *interned { return &interned{texts: []string{""}, index: map[string]int{"": 0}} }

// text returns the index of a string.
func (in *interned) text(s string) int {
	at, known := in.index[s]
	if !known {
		at = len(in.texts)
		in.index[s] = at
		in.texts = append(in.texts, shortened(s))
	}
	return at
}

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

// versions are all resourceVersions of a history in increasing order. Columns
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
func (v versions) texts() []string {
	texts := make([]string, len(v))
	for i, rv := range v {
		texts[i] = strconv.FormatInt(rv, 10)
	}
	return texts
}

// objects are the distinct states of objects in a history, in columns of indices
// into the strings. The first stands for no object.
type objects struct {
	Key    []int `json:"key"`
	Value  []int `json:"value"`
	Labels []int `json:"labels"`
	Node   []int `json:"node"`
	UID    []int `json:"uid"`
	index  map[[5]int]int
}

func newObjects() *objects {
	o := &objects{index: map[[5]int]int{}}
	o.add([5]int{})
	return o
}

func (o *objects) add(fields [5]int) int {
	at, known := o.index[fields]
	if !known {
		at = len(o.Key)
		o.index[fields] = at
		o.Key, o.Value = append(o.Key, fields[0]), append(o.Value, fields[1])
		o.Labels, o.Node = append(o.Labels, fields[2]), append(o.Node, fields[3])
		o.UID = append(o.UID, fields[4])
	}
	return at
}

// object returns the index of a state. The RV is not part of it, but of what refers
// to it.
func (b *builder) object(o *model.Object) int {
	if o == nil {
		return 0
	}
	return b.objects.add([5]int{
		b.text(o.Key().String()), b.text(o.Value), b.text(labels(o.Labels)), b.text(o.Node), b.text(o.UID),
	})
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
