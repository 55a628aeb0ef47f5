package explain

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/watchsim/watchsim/model"
)

// Text returns a violation as text: its sentence, and below it the paragraphs of
// [Explainer.Explain], wrapped to [Columns].
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

// arrived describes an event and when it arrived.
func arrived(e *model.Event) string { return e.Describe() + " at " + model.At(e.Time) }

// shown is the most things of one kind that a sentence lists.
const shown = 4

// some returns the first few parts and the number of the others.
func some(parts []string) []string {
	if len(parts) <= shown {
		return parts
	}
	return append(slices.Clone(parts[:shown]), fmt.Sprintf("%d more", len(parts)-shown))
}

// quoted returns a code, and the server's message if there is one.
func quoted(code model.Code, message string) string {
	if message == "" {
		return string(code)
	}
	if len(message) > 80 {
		message = message[:80] + "..."
	}
	return fmt.Sprintf("%s (%q)", code, message)
}

// join joins sentences.
func join(sentences []string) string { return strings.Join(sentences, " ") }

// Columns is the width of a report, which fits a terminal and an issue.
const Columns = 100

// Wrap breaks text into lines of at most [Columns], each indented by the given number
// of spaces. A longer word has a line of its own.
func Wrap(indent int, text string) string {
	var b strings.Builder
	for i, line := range lines(strings.Fields(text), Columns-indent) {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strings.Repeat(" ", indent) + line)
	}
	return b.String()
}

// lines joins words to lines of at most a width. A longer word has a line of its own.
func lines(words []string, width int) []string {
	var lines []string
	for _, word := range words {
		last := len(lines) - 1
		if last >= 0 && utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// besideWidths are the widths of two halves, which fit into Columns with a margin of
// two.
var besideWidths = []int{48, 48}

// Beside prints two lists of lines side by side, below their names.
func Beside(leftName, rightName string, left, right []string) string {
	rows := []row{{leftName, rightName}, rule(besideWidths)}
	for i := range max(len(left), len(right)) {
		r := make(row, 2)
		if i < len(left) {
			r[0] = left[i]
		}
		if i < len(right) {
			r[1] = right[i]
		}
		rows = append(rows, r)
	}
	return table(besideWidths, rows)
}

// Line returns a moment as one line, with its time.
func Line(m Moment) string { return model.At(m.Time) + " " + told(m) }

// wrap breaks text into lines of at most a width. A longer word is broken.
func wrap(text string, width int) []string {
	var words []string
	for _, word := range strings.Fields(text) {
		for part := range slices.Chunk([]rune(word), width) {
			words = append(words, string(part))
		}
	}
	return lines(words, width)
}

// hanging breaks text into lines of at most [Columns]. The first follows a head, the
// others are indented to it.
func hanging(head, text string) string {
	margin := strings.Repeat(" ", len(head))
	return head + strings.Join(wrap(text, Columns-len(head)), "\n"+margin) + "\n"
}

// row has cells side by side. The longest one determines its height.
type row []string

// rule returns the row below the heads of columns.
func rule(widths []int) row {
	r := make(row, len(widths))
	for i, width := range widths {
		r[i] = strings.Repeat("-", width)
	}
	return r
}

// indent is the margin of a table.
const indent = 2

// table prints rows in columns of fixed widths, two spaces apart.
func table(widths []int, rows []row) string {
	var b strings.Builder
	for _, r := range rows {
		cells := make([][]string, len(r))
		height := 1
		for i, cell := range r {
			cells[i] = wrap(cell, widths[i])
			height = max(height, len(cells[i]))
		}
		for line := range height {
			text := strings.Repeat(" ", indent)
			for i := range cells {
				cell := ""
				if line < len(cells[i]) {
					cell = cells[i][line]
				}
				text += cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2)
			}
			b.WriteString(strings.TrimRight(text, " ") + "\n")
		}
	}
	return b.String()
}
