package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/model"
)

// Text returns a violation for people: its sentence, and below it the paragraphs of
// [Explainer.Explain], in lines of at most [Columns].
func Text(sentence string, paragraphs []string) string {
	var b strings.Builder
	b.WriteString(Wrap(2, sentence) + "\n")
	for i, paragraph := range paragraphs {
		if i == 0 {
			b.WriteByte('\n')
		}
		b.WriteString(Wrap(4, paragraph) + "\n")
	}
	return b.String()
}

// arrived names an event and when it came.
func arrived(e *model.Event) string { return e.Describe() + " at " + model.At(e.Time) }

// shown limits how many things of one sort a sentence names.
const shown = 4

// some returns the first few and says how many more there are.
func some(parts []string) []string {
	if len(parts) <= shown {
		return parts
	}
	return append(slices.Clone(parts[:shown]), fmt.Sprintf("%d more", len(parts)-shown))
}

// quoted prints a server's message after a code, if there is one.
func quoted(code model.Code, message string) string {
	if message == "" {
		return string(code)
	}
	if len(message) > 80 {
		message = message[:80] + "..."
	}
	return fmt.Sprintf("%s (%q)", code, message)
}

// join puts sentences one after the other.
func join(sentences []string) string { return strings.Join(sentences, " ") }
