package sim

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/watchsim/watchsim/sim/internal/kernel"
)

// MaxLog is how many bytes of log lines a logbook keeps. Later lines are only counted.
const MaxLog = 64 << 20

// Aside calls f outside of the run's accounting: nothing in it is a synchronisation point,
// a decision, or a draw from the run's random numbers. f must not wait.
func Aside(f func()) {
	kernel.Aside()
	defer kernel.Back()
	f()
}

// Logbook collects what the code of a run logs, with simulated times and processes. Logging
// must not alter the run, so callers format what they write within [Aside]. Write takes no
// lock, as only one goroutine of a simulation runs at a time.
type Logbook struct {
	entries []logEntry
	bytes   int
	dropped int
}

type logEntry struct {
	at    time.Time
	group uint32
	text  []byte
}

// Write implements io.Writer for the sinks of loggers: whole lines at a time.
func (l *Logbook) Write(p []byte) (int, error) {
	if l.bytes+len(p) > MaxLog {
		l.dropped++
		return len(p), nil
	}
	l.bytes += len(p)
	group := uint32(0)
	if kernel.Available() {
		group = kernel.Runtime().Group()
	}
	l.entries = append(l.entries, logEntry{time.Now(), group, bytes.Clone(p)})
	return len(p), nil
}

// Print writes the log of a completed run, with times relative to an offset from its beginning.
func (l *Logbook) Print(w io.Writer, result *Result, began time.Duration) error {
	for _, entry := range l.entries {
		name := "?"
		if int(entry.group) < len(result.processes) {
			name = result.processes[entry.group]
		}
		at := entry.at.Sub(result.begin) - began
		for line := range bytes.Lines(entry.text) {
			if _, err := fmt.Fprintf(w, "%12.6fs  %-12s  %s\n", at.Seconds(), name, bytes.TrimRight(line, "\n")); err != nil {
				return err
			}
		}
	}
	if l.dropped > 0 {
		_, err := fmt.Fprintf(w, "and %d more that did not fit into %d MiB\n", l.dropped, MaxLog>>20)
		return err
	}
	return nil
}
