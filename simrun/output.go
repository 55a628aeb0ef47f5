package simrun

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/traces"
)

// terminal returns the file behind a writer if that is a terminal, else nil.
func terminal(w io.Writer) *os.File {
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return file
	}
	return nil
}

// The parts of a report that are coloured: the verdict, the sentence about the violation, and where
// the drawing shows it.
var (
	verdictWord   = regexp.MustCompile(`(?m)^(PASSED|FAILED|INCONCLUSIVE)(  .*)$`)
	violationText = regexp.MustCompile(`(?m)^(\x1b\[1;31mFAILED.*\n)((?:  [^g\n].*\n)+)`)
	drawnMark     = regexp.MustCompile(`(?m)^(.{0,24})>>`)
)

// paint escapes control sequences in a report, whose names may come from others, and colours it for
// a terminal, following https://no-color.org.
func paint(w io.Writer, report string) string {
	var printable strings.Builder
	_, _ = io.WriteString(traces.PrintableWriter(&printable), report)
	report = printable.String()
	if terminal(w) == nil || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return report
	}
	report = verdictWord.ReplaceAllStringFunc(report, func(line string) string {
		word, rest, _ := strings.Cut(line, " ")
		color := map[string]string{"PASSED": "32", "FAILED": "31", "INCONCLUSIVE": "33"}[word]
		return "\x1b[1;" + color + "m" + word + "\x1b[0m " + rest
	})
	report = violationText.ReplaceAllString(report, "$1\x1b[1m$2\x1b[0m")
	return drawnMark.ReplaceAllString(report, "$1\x1b[31m>>\x1b[0m")
}

// say prints a sentence of a report for people.
func say(out io.Writer, format string, arguments ...any) {
	fmt.Fprintln(out, explain.Wrap(2, fmt.Sprintf(format, arguments...)))
}

// shown is the shortest form of a path, relative to here if possible.
func shown(path string) string {
	if here, err := os.Getwd(); err == nil {
		if relative, err := filepath.Rel(here, path); err == nil && !strings.HasPrefix(relative, "..") {
			return relative
		}
	}
	return path
}

// statusLine shows how far a long command is: on a terminal it overwrites itself, and otherwise it
// prints a line now and then.
type statusLine struct {
	out      io.Writer
	terminal *os.File
	width    int // of what it shows
	began    time.Time
	last     time.Time
}

const statusPeriod = 30 * time.Second

func newStatusLine(out io.Writer) *statusLine {
	return &statusLine{out: out, terminal: terminal(out), began: time.Now(), last: time.Now()}
}

func (l *statusLine) say(format string, arguments ...any) {
	text := fmt.Sprintf("%4.0f s: "+format, append([]any{time.Since(l.began).Seconds()}, arguments...)...)
	if l.terminal != nil {
		width, _, _ := term.GetSize(int(l.terminal.Fd()))
		text = text[:min(len(text), max(0, width-1))]
		fmt.Fprintf(l.out, "\r%-*s", l.width, text)
		l.width = len(text)
		return
	}
	if time.Since(l.last) >= statusPeriod {
		l.last = time.Now()
		fmt.Fprintln(l.out, text)
	}
}

// clear makes room for other output.
func (l *statusLine) clear() {
	if l.width > 0 {
		fmt.Fprintf(l.out, "\r%*s\r", l.width, "")
		l.width = 0
	}
}
