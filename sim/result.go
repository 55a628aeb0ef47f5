package sim

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/sim/internal/kernel"
	"github.com/watchsim/watchsim/sim/simdisk"
)

// Stop is why a run ended: a word for programs and files.
type Stop string

// The ways in which a run ends. Only a Completed run can pass.
const (
	Completed      Stop = "completed"
	DecisionBudget Stop = "decision-budget"
	TimeBudget     Stop = "time-budget"
	Deadlock       Stop = "deadlock"
	Breakpoint     Stop = "breakpoint"
)

// String says in words why a run ended.
func (s Stop) String() string {
	switch s {
	case DecisionBudget:
		return "the budget of scheduling decisions is used up (a livelock?)"
	case TimeBudget:
		return "the budget of simulated time is used up (a wait that never ends?)"
	case Deadlock:
		return "deadlock: every goroutine waits and no timer is pending"
	case Breakpoint:
		return "the breakpoint was reached"
	}
	return string(s)
}

var stops = map[uint32]Stop{
	kernel.StopNone:      Completed,
	kernel.StopDecisions: DecisionBudget,
	kernel.StopTime:      TimeBudget,
	kernel.StopDeadlock:  Deadlock,
	kernel.StopAsked:     Breakpoint,
}

// Result is how a run ended, and its recordings.
type Result struct {
	Stop Stop
	// Hash is the running hash over every decision, random draw that shows in
	// one, goroutine switch and step of the clock. Two runs with one hash are
	// the same run.
	Hash uint64
	// Decisions counts scheduling decisions, Yields and Stalls those at synchronisation points.
	Decisions, Yields, Stalls uint64
	// Spins counts how often a goroutine passed 20,000 synchronisation points, or read the clock or
	// called runtime.Gosched as often, at one instant. The busy-waiting goroutine then sleeps for
	// 10 ms, so that those it waits for can run.
	Spins uint64
	// Simulated and Wall are the time the run took on the two clocks.
	Simulated, Wall time.Duration
	// Stacks shows where every goroutine of the run was, unless it Completed.
	Stacks string
	// Diverged means that a tape did not fit the run. Uncontrolled counts how
	// often a goroutine ran without being picked, which must not happen.
	Diverged     bool
	Uncontrolled uint32
	// DiskFull means that a limit of the files in memory was reached, and code got an ENOSPC that
	// no real disk would return.
	DiskFull bool
	// Tape is the recorded tape; TapeFull means that it is cut short.
	Tape     []byte
	TapeFull bool
	// Trace is everything that happened, if requested.
	Trace Trace
	// Explored is set for an exploring run.
	Explored *Explored

	begin     time.Time // of the world, on the simulated clock
	processes []string  // by number, for a Logbook
}

// Here is called when a run has reached a breakpoint, if its Config asks for that: every
// goroutine is in place, and none runs. It does nothing; debuggers can stop at it:
//
//	dlv exec ... --init <(echo 'break github.com/watchsim/watchsim/sim.Here')
//
//go:noinline
func Here(at *Result) { runtime.KeepAlive(at) }

// scratch is memory for the run of a process. Unwritten pages cost no memory.
type scratch struct{ memory []byte }

var tapeMemory, traceMemory scratch

// reserve returns size bytes, the same each time.
func (s *scratch) reserve(size int) []byte {
	if len(s.memory) < size {
		// unix.Mmap records mappings where the code under test could notice.
		memory, err := unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
		if err != nil {
			panic(fmt.Sprintf("cannot reserve %d bytes of memory for a recording: %v", size, err))
		}
		s.memory = unsafe.Slice((*byte)(memory), size)
	}
	return s.memory[:size]
}

// recording is the memory that the kernel writes to, outside of the garbage-collected heap:
// unused pages cost nothing.
type recording struct {
	tape    []byte
	trace   Trace
	choices []Choice
}

func newRecording(p *kernel.Params, config Config) recording {
	var r recording
	if config.Record {
		if r.tape = config.RecordInto; r.tape == nil {
			r.tape = tapeMemory.reserve(config.Limits.TapeBytes)
		}
		p.Record = unsafe.Pointer(unsafe.SliceData(r.tape))
		p.RecordCap = len(r.tape)
	}
	if config.Trace {
		r.trace = newTrace(config.TraceRecords)
		p.Trace = unsafe.Pointer(unsafe.SliceData(r.trace))
		p.TraceCap = len(r.trace)
	}
	if config.Explore != nil {
		r.choices = newChoices()
		p.Choices = unsafe.Pointer(unsafe.SliceData(r.choices))
		p.ChoicesCap = len(r.choices)
	}
	return r
}

func newResult(w *World, c kernel.Counters, wall time.Duration, r recording) *Result {
	result := &Result{
		Stop: stops[c.Stop], Hash: c.Hash,
		Decisions: c.Decisions, Yields: c.Yields, Stalls: c.Stalls,
		Spins: c.Spins, Simulated: time.Duration(c.Now), Wall: wall,
		begin: w.begin, Diverged: c.Diverged != 0, Uncontrolled: c.Foreign, TapeFull: c.TapeFull != 0,
		DiskFull: simdisk.Full(),
	}
	for _, process := range w.groups {
		result.processes = append(result.processes, process.name)
	}
	if r.tape != nil {
		result.Tape = append([]byte{}, r.tape[:c.Recorded]...)
	}
	result.Trace = r.trace[:min(c.Traced, len(r.trace))]
	if result.Explored = r.explored(c); result.Explored != nil && result.Stop != Completed {
		result.Explored.Truncated = true
	}
	if result.Stop != Completed {
		result.Stacks = stacks(w, c.Running)
	}
	return result
}

// Stacks renders the stacks of all goroutines of the run. It may be called only in a pause.
func (w *World) Stacks() string { return stacks(w, kernel.Now().Running) }

// goroutines lists the run's goroutines in order of creation.
func goroutines() []kernel.Goroutine {
	list := make([]kernel.Goroutine, kernel.Runtime().List(nil))
	kernel.Runtime().List(list)
	slices.SortFunc(list, func(a, b kernel.Goroutine) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// stackBytes bounds the stack traces of one report.
const stackBytes = 8 << 20

// stacks renders the stack of each goroutine of the run; running is the one that ran last.
func stacks(w *World, running uint64) string {
	buffer := make([]byte, stackBytes)
	all := strings.TrimSuffix(string(buffer[:runtime.Stack(buffer, true)]), "\n")
	traces := map[uint64]string{}
	for _, trace := range strings.Split(all, "\n\n") {
		var id uint64
		if _, err := fmt.Sscanf(trace, "goroutine %d ", &id); err == nil {
			traces[id] = trace
		}
	}
	var b strings.Builder
	for _, g := range goroutines() {
		process := w.groups[g.Group]
		if process.dead.Load() {
			continue
		}
		fmt.Fprintf(&b, "[%s #%d", process.name, g.ID)
		if g.ID == running {
			b.WriteString(", ran last")
		}
		if g.Stalled {
			b.WriteString(", stalled")
		}
		if g.Locks > 0 {
			fmt.Fprintf(&b, ", holds %d locks", g.Locks)
		}
		fmt.Fprintf(&b, "] %s\n\n", traces[g.GoID])
	}
	return b.String()
}
