package explain

import (
	"strings"

	"github.com/watchsim/watchsim/linearizability"
)

// Render returns a violation for people: its sentence, and below it the
// paragraphs of [Explainer.Explain], in lines of at most [Columns].
func (e *Explainer) Render(v linearizability.Violation) string { return Text(v.Error(), e.Explain(v)) }

// Text is [Explainer.Render] for a sentence and paragraphs that are there
// already, of a verdict that was read back for instance.
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
