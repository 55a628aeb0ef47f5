package explain

import (
	"strings"

	"github.com/watchsim/watchsim/model"
)

// besideWidths are those of two halves. With a margin of two they fit into
// Columns.
var besideWidths = []int{48, 48}

// Beside lays two lists of lines side by side, below their names.
func Beside(leftName, rightName string, left, right []string) string {
	rows := []row{{leftName, rightName}, {strings.Repeat("-", besideWidths[0]), strings.Repeat("-", besideWidths[1])}}
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
	return table(indent, besideWidths, rows)
}

// Line is a moment in a line, with its time.
func Line(m Moment) string { return model.At(m.Time) + " " + told(m) }
