package explain

import "strings"

// Columns is the width of a report, which fits a terminal and an issue alike.
const Columns = 100

// Wrap breaks text into lines of at most [Columns], each indented by so many
// spaces. A longer word keeps a line of its own.
func Wrap(indent int, text string) string {
	var b strings.Builder
	margin := strings.Repeat(" ", indent)
	width := 0
	for _, word := range strings.Fields(text) {
		switch length := len([]rune(word)); {
		case width == 0:
			b.WriteString(margin + word)
			width = indent + length
		case width+1+length > Columns:
			b.WriteString("\n" + margin + word)
			width = indent + length
		default:
			b.WriteString(" " + word)
			width += 1 + length
		}
	}
	return b.String()
}
