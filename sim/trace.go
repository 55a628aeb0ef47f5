package sim

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"github.com/watchsim/watchsim/sim/internal/kernel"
)

// Trace is every scheduling step of a run: goroutines picked, synchronisation points
// passed, random numbers drawn and decisions made, with callers. It can have millions of
// records.
type Trace []kernel.TraceRecord

// maxTraceRecords bounds a trace. Later steps are not recorded.
const maxTraceRecords = 8 << 20

func newTrace(most int) Trace {
	const size = unsafe.Sizeof(kernel.TraceRecord{})
	memory := traceMemory.reserve(maxTraceRecords * int(size))
	if most <= 0 || most > maxTraceRecords {
		most = maxTraceRecords
	}
	return unsafe.Slice((*kernel.TraceRecord)(unsafe.Pointer(unsafe.SliceData(memory))), most)
}

// Write writes the trace in a format that [FirstDifference] reads in any process: every record as
// five numbers, with the names of the callers where a list of callers first occurs.
func (t Trace) Write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	known := map[[12]uintptr]uint64{}
	var buffer []byte
	var decision, now uintptr
	for i := range t {
		record := &t[i]
		callers, again := known[record.Callers]
		if !again {
			callers = uint64(len(known))
			known[record.Callers] = callers
		}
		buffer = binary.AppendUvarint(buffer[:0], uint64(record.Kind))
		buffer = binary.AppendUvarint(buffer, uint64(record.Decision-decision))
		buffer = binary.AppendUvarint(buffer, uint64(record.Now-now))
		buffer = binary.AppendUvarint(buffer, uint64(record.What))
		buffer = binary.AppendUvarint(buffer, callers)
		if !again {
			names := callerPlaces(record.Callers)
			buffer = binary.AppendUvarint(buffer, uint64(len(names)))
			buffer = append(buffer, names...)
		}
		decision, now = record.Decision, record.Now
		if _, err := out.Write(buffer); err != nil {
			return err
		}
	}
	return out.Flush()
}

func callerNames(callers [12]uintptr) string {
	var b strings.Builder
	for _, pc := range callers {
		if f := runtime.FuncForPC(pc); f != nil {
			b.WriteString(" < " + f.Name())
		}
	}
	return b.String()
}

// callerPlaces is callerNames with the file and the line of each call, and with inlined functions.
func callerPlaces(callers [12]uintptr) string {
	n := 0
	for n < len(callers) && callers[n] != 0 {
		n++
	}
	var b strings.Builder
	frames := runtime.CallersFrames(callers[:n])
	for more := n > 0; more; {
		var frame runtime.Frame
		if frame, more = frames.Next(); frame.Function != "" {
			fmt.Fprintf(&b, " < %s %s:%d", frame.Function, path.Base(frame.File), frame.Line)
		}
	}
	return b.String()
}

// traceReader reads what Write wrote.
type traceReader struct {
	in       *bufio.Reader
	callers  []string
	decision uint64
	now      time.Duration
	err      error
}

// event is a record of a trace that was read.
type event struct {
	decision, kind, what uint64
	now                  time.Duration
	callers              string
}

func (r *traceReader) next() (event, bool) {
	kind := r.number()
	if r.err != nil {
		return event{}, false // the end, in between two records
	}
	r.decision += r.number()
	r.now += time.Duration(r.number())
	e := event{decision: r.decision, now: r.now, kind: kind, what: r.number()}
	callers := r.number()
	if callers == uint64(len(r.callers)) && r.err == nil {
		names := make([]byte, r.number())
		if r.err == nil {
			_, r.err = io.ReadFull(r.in, names)
		}
		r.callers = append(r.callers, string(names))
	}
	if r.err != nil || callers >= uint64(len(r.callers)) {
		r.err = fmt.Errorf("expected a whole record of a trace: %w", errors.Join(r.err, io.ErrUnexpectedEOF))
		return event{}, false
	}
	e.callers = r.callers[callers]
	return e, true
}

func (r *traceReader) number() uint64 {
	if r.err != nil {
		return 0
	}
	var n uint64
	n, r.err = binary.ReadUvarint(r.in)
	return n
}

// PrintTrace writes a trace as text, one line per record.
func PrintTrace(r io.Reader, w io.Writer) error {
	reader := &traceReader{in: bufio.NewReaderSize(r, 1<<16)}
	out := bufio.NewWriterSize(w, 1<<16)
	for e, more := reader.next(); more; e, more = reader.next() {
		if _, err := fmt.Fprintln(out, e); err != nil {
			return err
		}
	}
	return errors.Join(reader.failure(), out.Flush())
}

// Point is a synchronisation point that a goroutine has passed.
type Point struct {
	// Decision is the number of decisions so far, At the time since the world began, and Callers
	// the calls around the point, innermost first.
	Decision  uint64
	At        time.Duration
	Goroutine uint64
	Callers   []Call
}

// Call is a place in a function.
type Call struct {
	// Function includes the path of its package, Place is a file and a line: wait.go:12.
	Function, Place string
}

// calls parses what callerPlaces wrote, without the kernel's own functions.
func calls(callers string) []Call {
	var list []Call
	for _, name := range strings.Split(withoutKernel(callers), " < ") {
		function, place, _ := strings.Cut(name, " ")
		list = append(list, Call{function, place})
	}
	return list
}

// ReadPoints reads the synchronisation points of a trace, at most that many.
func ReadPoints(r io.Reader, most int) ([]Point, error) {
	reader := &traceReader{in: bufio.NewReaderSize(r, 1<<16)}
	var points []Point
	places := map[string][]Call{}
	for e, more := reader.next(); more && len(points) < most; e, more = reader.next() {
		if e.kind == kernel.TracePoint {
			place, known := places[e.callers]
			if !known {
				place = calls(e.callers)
				places[e.callers] = place
			}
			points = append(points, Point{e.decision, e.now, e.what, place})
		}
	}
	return points, reader.failure()
}

// Difference is the first divergence of two traces: the last common records, the next
// records of each, and the number of decisions before.
type Difference struct {
	Decision uint64
	Before   []string
	A, B     []string
}

// shown is how many lines of each part a difference shows.
const shown = 8

// FirstDifference reads two traces and returns their first divergence; ok is false if there
// is none.
func FirstDifference(a, b io.Reader) (found Difference, ok bool, err error) {
	readerA, readerB := &traceReader{in: bufio.NewReaderSize(a, 1<<16)}, &traceReader{in: bufio.NewReaderSize(b, 1<<16)}
	var before [shown]event
	for i := 0; ; i++ {
		left, more := readerA.next()
		right, moreRight := readerB.next()
		if more && moreRight && left == right {
			before[i%shown] = left
			continue
		}
		if !more && !moreRight {
			return Difference{}, false, cmp.Or(readerA.failure(), readerB.failure())
		}
		for j := max(0, i-shown); j < i; j++ {
			found.Before = append(found.Before, before[j%shown].String())
		}
		found.Decision = max(left.decision, right.decision)
		found.A, found.B = readerA.rest(left, more), readerB.rest(right, moreRight)
		return found, true, cmp.Or(readerA.failure(), readerB.failure())
	}
}

// rest returns the lines from an event on.
func (r *traceReader) rest(first event, more bool) []string {
	var lines []string
	for e := first; more && len(lines) < shown; e, more = r.next() {
		lines = append(lines, e.String())
	}
	return lines
}

// failure returns why the trace could not be read to its end.
func (r *traceReader) failure() error {
	if r.err == io.EOF {
		return nil
	}
	return r.err
}

// String renders an event as a line.
func (e event) String() string {
	what := ""
	switch e.kind {
	case kernel.TracePick:
		what = fmt.Sprintf("goroutine #%d runs", e.what)
	case kernel.TracePoint:
		what = fmt.Sprintf("goroutine #%d synchronises in", e.what)
	case kernel.TraceDraw:
		what = fmt.Sprintf("random number %d is drawn in", e.what)
	default:
		what = fmt.Sprintf("%v: %d of %d", Kind(e.kind-kernel.TraceDecision), uint32(e.what), e.what>>32)
	}
	return fmt.Sprintf("%d at %v: %s%s", e.decision, e.now, what, e.callers)
}
