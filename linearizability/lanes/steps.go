package lanes

import (
	"fmt"
	"strings"
	"time"

	"github.com/watchsim/watchsim/linearizability/explain"
)

// Steps are moments as a numbered list, indented by so many spaces.
func Steps(indent int, moments []explain.Moment) string {
	var b strings.Builder
	for i, m := range moments {
		text := m.Text
		if m.Lane != explain.Fault {
			text = who(m) + " " + text
		} else if m.End > m.Time {
			text += ", to " + clock(m.End)
		}
		switch m.Mark {
		case explain.Owed:
			text += "  <-- owed"
		case explain.Came:
			text += "  <-- broken here"
		}
		margin := fmt.Sprintf("%*s%3d. %9s  ", indent, "", i+1, clock(m.Time))
		lines := wrap(text, explain.Columns-len(margin))
		for j, line := range lines {
			if j > 0 {
				margin = strings.Repeat(" ", len(margin))
			}
			b.WriteString(margin + line + "\n")
		}
	}
	return b.String()
}

// who is the process of a moment, and which of its streams.
func who(m explain.Moment) string {
	if m.Stream != 0 {
		return fmt.Sprintf("%s (stream %d)", m.Process, m.Stream)
	}
	return m.Process
}

// clock prints a simulated time as reports do.
func clock(nanoseconds int64) string {
	return fmt.Sprintf("%.3fs", time.Duration(nanoseconds).Seconds())
}
