package campaign

import (
	"regexp"
	"slices"
	"strings"
)

// rewriting replaces what differs from run to run by a word that does not.
type rewriting struct {
	pattern     *regexp.Regexp
	replacement string
}

// rewritings are applied in this order. Their subject is what the texts of
// violations, panics and reasons are made of; text of another sort merely keeps
// more of its variety.
var rewritings = []rewriting{
	// An operation is known by its kind, which is the first word of its details.
	{regexp.MustCompile(`operation \d+ of client \S+ on server \S+ \((\w+)[^()]*\)`), "$1"},
	// Details stand in parentheses, and parentheses may stand in parentheses.
	{regexp.MustCompile(` ?\([^()]*\)`), ""},
	{regexp.MustCompile(` ?\([^()]*\)`), ""},
	{regexp.MustCompile(`"[^"]*"`), "TEXT"},
	{regexp.MustCompile(`0x[0-9a-fA-F]+`), "ADDRESS"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(ns|µs|ms|s|m|h))+\b`), "TIME"},
	{regexp.MustCompile(`\bstream \d+( of client \S+)?( on server [^\s,:;]+)?`), "stream"},
	{regexp.MustCompile(`\bclient \S+ on server [^\s,:;]+`), "client"},
	{regexp.MustCompile(`\b(apiserver|etcd|client|server|watcher|reflector|informer|reader|writer|sleeper)-\d+\b`), "$1"},
	{regexp.MustCompile(`\b(red|green|blue)/[a-z0-9-]+|\b[a-z]+/[a-z]\b`), "OBJECT"},
	{regexp.MustCompile(`-?\b\d+(\.\d+)?\b`), "N"},
	{regexp.MustCompile(`[,;]? and N more\b`), ""},
	{regexp.MustCompile(`\s+`), " "},
}

// normalise reduces a text to what it shares with the texts of other runs.
func normalise(text string) string {
	for _, r := range rewritings {
		text = r.pattern.ReplaceAllString(text, r.replacement)
	}
	return strings.TrimSpace(text)
}

// withoutRepetition puts the enumeration at the end of a text, if there is one,
// in order, and leaves out what it says twice: how many objects differ is chance.
func withoutRepetition(text string) string {
	begin := strings.LastIndex(text, ": ")
	if begin < 0 {
		return text
	}
	begin += len(": ")
	parts := strings.Split(text[begin:], ", ")
	slices.Sort(parts)
	return text[:begin] + strings.Join(slices.Compact(parts), ", ")
}
