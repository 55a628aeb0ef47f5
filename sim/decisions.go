package sim

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/watchsim/watchsim/sim/internal/kernel"
)

// Kind is what a decision decides. Its name is a word: pick, yield, stall, focus, length, select or
// point.
type Kind = kernel.Kind

// The kinds of decision. An exploring run has pick, select and point.
const (
	KindPick   = kernel.KindPick   // which goroutine runs; 0 is the one that has waited longest
	KindYield  = kernel.KindYield  // a goroutine is interrupted: how many synchronisation points to the next time
	KindStall  = kernel.KindStall  // whether that interruption is a stall
	KindFocus  = kernel.KindFocus  // whether a visit of a place in focus is a stall; 0 is one
	KindLength = kernel.KindLength // how long a stall is
	KindSelect = kernel.KindSelect // which case select looks at first; if a search decides, which ready case it takes
	KindPoint  = kernel.KindPoint  // a search decides at a synchronisation point: go on, let others go first, or stall
)

// Decision is one decision of a run, and where it was taken.
type Decision struct {
	// Number counts from 1.
	Number uint64
	// At is the simulated time since the world began.
	At time.Duration
	// Chosen is the index of the chosen alternative, out of Of.
	Kind       Kind
	Chosen, Of uint32
	// Goroutine is the one that was picked, or else the one that ran. They are
	// numbered in the order of their creation.
	Goroutine uint64
	// Callers are the functions around the last synchronisation point that this
	// goroutine has passed, innermost first; empty if it has passed none.
	Callers string
}

// Decisions yields the decisions in a trace.
func (t Trace) Decisions() iter.Seq[Decision] {
	return func(yield func(Decision) bool) {
		var running uint64
		names := map[[12]uintptr]string{}
		places := map[uint64][12]uintptr{}
		number := uint64(0)
		for i := range t {
			switch t[i].Kind {
			case kernel.TracePick:
				running = uint64(t[i].What)
			case kernel.TracePoint:
				places[uint64(t[i].What)] = t[i].Callers
			}
			kind, chosen, of := t.decision(i)
			if kind == 0 {
				continue
			}
			number++
			d := Decision{Number: number, At: time.Duration(t[i].Now), Kind: kind, Chosen: chosen, Of: of, Goroutine: running}
			if kind == KindPick && i+1 < len(t) && t[i+1].Kind == kernel.TracePick {
				d.Goroutine = uint64(t[i+1].What)
			}
			if place, passed := places[d.Goroutine]; passed {
				name, known := names[place]
				if !known {
					name = withoutKernel(callerNames(place))
					names[place] = name
				}
				d.Callers = name
			}
			if !yield(d) {
				return
			}
		}
	}
}

// withoutKernel removes the kernel's own functions, with which every place begins.
func withoutKernel(callers string) string {
	names := strings.Split(strings.TrimPrefix(callers, " < "), " < ")
	for len(names) > 1 && (strings.HasPrefix(names[0], "runtime.sim") || strings.HasPrefix(names[0], "runtime.selectgo")) {
		names = names[1:]
	}
	return strings.Join(names, " < ")
}

// decisionsHeader is the first line of a file of decisions.
const decisionsHeader = "# watchsim decisions v2: number, simulated time, kind, chosen/alternatives, goroutine, place"

// WriteDecisions writes decisions as text, one per line. A line "@17 = f < g" defines place 17.
func WriteDecisions(w io.Writer, decisions iter.Seq[Decision]) error {
	out := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintln(out, decisionsHeader)
	places := map[string]int{"": 0}
	for d := range decisions {
		place, known := places[d.Callers]
		if !known {
			place = len(places)
			places[d.Callers] = place
			fmt.Fprintf(out, "@%d = %s\n", place, d.Callers)
		}
		if _, err := fmt.Fprintf(out, "%d %s %s %d/%d #%d @%d\n", d.Number, d.At, d.Kind, d.Chosen, d.Of, d.Goroutine, place); err != nil {
			return err
		}
	}
	return out.Flush()
}

// maxDecisionLine bounds a line of a decisions file, in bytes.
const maxDecisionLine = 64 << 10

// ReadDecisions yields what [WriteDecisions] wrote. A truncated file yields its complete
// decisions; failed is set if the sequence ended with an error.
func ReadDecisions(r io.Reader, failed *error) iter.Seq[Decision] {
	return func(yield func(Decision) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxDecisionLine)
		places := map[string]string{"@0": ""}
		for number := 1; lines.Scan(); number++ {
			line := lines.Text()
			if number == 1 {
				if line != decisionsHeader {
					*failed = fmt.Errorf("line 1: expected %q, found %.80q", decisionsHeader, line)
					return
				}
				continue
			}
			if place, callers, defines := strings.Cut(line, " = "); defines {
				places[place] = callers
				continue
			}
			d, err := parseDecision(line, places)
			if err != nil {
				*failed = fmt.Errorf("line %d: %w", number, err)
				return
			}
			if !yield(d) {
				return
			}
		}
		*failed = lines.Err()
	}
}

func parseDecision(line string, places map[string]string) (d Decision, err error) {
	fields := strings.Fields(line)
	wrong := fmt.Errorf("expected a decision such as %q, found %.80q", "12 1.5s pick 0/3 #7 @4", line)
	if len(fields) != 6 {
		return d, wrong
	}
	chosen, of, _ := strings.Cut(fields[3], "/")
	number, err1 := strconv.ParseUint(fields[0], 10, 64)
	at, err2 := time.ParseDuration(fields[1])
	c, err3 := strconv.ParseUint(chosen, 10, 32)
	o, err4 := strconv.ParseUint(of, 10, 32)
	g, err5 := strconv.ParseUint(strings.TrimPrefix(fields[4], "#"), 10, 64)
	var kind Kind
	err6 := kind.UnmarshalText([]byte(fields[2]))
	callers, known := places[fields[5]]
	if errors.Join(err1, err2, err3, err4, err5, err6) != nil {
		return d, wrong
	}
	if !known {
		return d, fmt.Errorf("expected a place that a line before names, found %.80q", fields[5])
	}
	return Decision{number, at, kind, uint32(c), uint32(o), g, callers}, nil
}

// String describes a decision in one line for people.
func (d Decision) String() string {
	what := map[Kind]string{
		KindPick:   fmt.Sprintf("goroutine #%d runs, number %d of the %d that can", d.Goroutine, d.Chosen+1, d.Of),
		KindYield:  fmt.Sprintf("goroutine #%d is interrupted; the next time is %d synchronisation points away", d.Goroutine, d.Chosen+1),
		KindStall:  fmt.Sprintf("goroutine #%d is interrupted; whether it stalls: %d of %d", d.Goroutine, d.Chosen, d.Of),
		KindFocus:  fmt.Sprintf("goroutine #%d comes by a place in focus; it stalls at 0: %d of %d", d.Goroutine, d.Chosen, d.Of),
		KindLength: fmt.Sprintf("goroutine #%d stalls, length %d of %d", d.Goroutine, d.Chosen, d.Of),
		KindSelect: fmt.Sprintf("goroutine #%d looks at case %d of %d first", d.Goroutine, d.Chosen+1, d.Of),
		KindPoint:  fmt.Sprintf("goroutine #%d is at a synchronisation point; 0 goes on: %d of %d", d.Goroutine, d.Chosen, d.Of),
	}[d.Kind]
	text := fmt.Sprintf("decision %d at %v: %s", d.Number, d.At, what)
	if d.Callers != "" {
		text += ", in " + d.Callers
	}
	return text
}

// Forced counts how a schedule deviates from the default one, in which goroutines take turns in the
// order in which they became runnable, none is interrupted, and select tries its first case first.
type Forced struct {
	// Switches counts how often a goroutine other than the first in the queue ran, a goroutine was
	// interrupted for others, or select began with another case.
	Switches int `json:"switches"`
	// Stalls counts the sleeps at synchronisation points.
	Stalls int `json:"stalls"`
}

// Forced counts the deviations of the run with this trace.
func (t Trace) Forced() Forced {
	var forced Forced
	var last Kind
	for i := range t {
		kind, chosen, _ := t.decision(i)
		switch kind {
		case 0:
			continue
		case KindLength:
			forced.Stalls++
			if last == KindStall {
				forced.Switches-- // the interruption was that stall
			}
		case KindYield:
			forced.Switches++
		case KindPick, KindSelect, KindPoint:
			if chosen > 0 {
				forced.Switches++
			}
		}
		last = kind
	}
	return forced
}

// decision returns the record at i as a decision; its kind is 0 if it is not one.
func (t Trace) decision(i int) (kind Kind, chosen, of uint32) {
	if t[i].Kind <= kernel.TraceDecision {
		return 0, 0, 0
	}
	return Kind(t[i].Kind - kernel.TraceDecision), uint32(t[i].What), uint32(t[i].What >> 32)
}

// Divergence returns the index of the first decision in which two runs differ; ok is false if there
// is none. It ignores names of functions: they change with the code, while the run may stay the
// same.
func Divergence(a, b []Decision) (index int, ok bool) {
	for i := range min(len(a), len(b)) {
		one, two := a[i], b[i]
		one.Callers, two.Callers = "", ""
		if one != two {
			return i, true
		}
	}
	return min(len(a), len(b)), len(a) != len(b)
}
