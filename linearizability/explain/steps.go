package explain

import (
	"fmt"
	"strings"

	"github.com/watchsim/watchsim/model"
)

// Steps are moments as a numbered list, indented by so many spaces.
func Steps(indent int, moments []Moment) string {
	var b strings.Builder
	for i, m := range moments {
		text := told(m)
		switch {
		case m.Mark == Owed && m.Lane == Etcd:
			text += "  <-- expected"
		case m.Mark != "":
			text += "  <-- broken here"
		}
		margin := fmt.Sprintf("%*s%3d. %9s  ", indent, "", i+1, model.At(m.Time))
		lines := wrap(text, Columns-len(margin))
		for j, line := range lines {
			if j > 0 {
				margin = strings.Repeat(" ", len(margin))
			}
			b.WriteString(margin + line + "\n")
		}
	}
	return b.String()
}

// told is what happened in a moment, and to whom.
func told(m Moment) string {
	switch {
	case m.Lane != Fault:
		return who(m) + " " + m.Text
	case m.End > m.Time:
		return m.Text + ", to " + model.At(m.End)
	}
	return m.Text
}

// who is the process of a moment, and which of its streams.
func who(m Moment) string {
	if m.Stream != 0 {
		return fmt.Sprintf("%s (stream %d)", m.Process, m.Stream)
	}
	return m.Process
}
