package explain

import "strings"

// wrap breaks text into lines of at most a width. A longer word is broken.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		for {
			switch room := width - len(line); {
			case line == "" && len(word) <= width:
				line = word
			case line != "" && len(word) < room:
				line += " " + word
			case line != "":
				lines = append(lines, line)
				line = ""
				continue
			default:
				lines = append(lines, word[:width])
				word = word[width:]
				continue
			}
			break
		}
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// row is cells beside each other. The longest decides how many lines it takes.
type row []string

// table lays rows out in columns of fixed widths, two spaces apart.
func table(indent int, widths []int, rows []row) string {
	var b strings.Builder
	for _, r := range rows {
		cells := make([][]string, len(r))
		height := 0
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
				text += cell + strings.Repeat(" ", widths[i]-len(cell)+2)
			}
			b.WriteString(strings.TrimRight(text, " ") + "\n")
		}
	}
	return b.String()
}
