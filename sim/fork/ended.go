package fork

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Ended is how a copy ended.
type Ended struct {
	// Answer is what the copy passed to Leave, complete only if it ended well.
	Answer []byte
	// Output is what it wrote to standard output and error.
	Output []byte
	// Processor is the processor time that it used, Memory its peak memory in bytes,
	// including what it shared with the original.
	Processor time.Duration
	Memory    int64

	exit   int
	signal syscall.Signal // 0 for none
	late   bool
	limits Limits
}

// EndedAlone describes a process that is not a copy as if it were one, without limits.
func EndedAlone(state *os.ProcessState, output []byte) Ended {
	status, _ := state.Sys().(syscall.WaitStatus)
	ended := Ended{Output: output, Processor: state.UserTime() + state.SystemTime(), exit: status.ExitStatus(), limits: Limits{Processor: math.MaxInt64, Memory: math.MaxInt64}}
	if status.Signaled() {
		ended.exit, ended.signal = 0, status.Signal()
	}
	return ended
}

func (e Ended) says(text string) bool { return bytes.Contains(e.Output, []byte(text)) }

// lacksMemory reports whether the copy was refused memory.
func (e Ended) lacksMemory() bool {
	return e.says("fatal error: out of memory") || e.says("fatal error: runtime: cannot allocate") || e.says("cannot allocate memory")
}

// refused matches what the Go runtime prints about memory that it could not get.
var refused = regexp.MustCompile(`cannot allocate ([0-9]+)-byte block \(([0-9]+) in use\)`)

// overMemory reports whether the copy's own limit can explain why it was refused memory. If
// it was refused below half of that limit, the machine has none left.
func (e Ended) overMemory() bool {
	wanted := e.Memory
	if found := refused.FindSubmatch(e.Output); found != nil {
		block, _ := strconv.ParseInt(string(found[1]), 10, 64)
		used, _ := strconv.ParseInt(string(found[2]), 10, 64)
		wanted = max(wanted, block+used)
	}
	return wanted > e.limits.Memory/2
}

// Well reports whether the copy ended by Leave.
func (e Ended) Well() bool { return !e.late && e.signal == 0 && e.exit == exitLeft }

// Cause is why a copy did not end well.
type Cause string

// The causes. The first two are limits of wall-clock time and of processor time.
const (
	TookTooLong   Cause = "took-too-long"
	ProcessorTime Cause = "processor-time"
	MachineMemory Cause = "machine-out-of-memory"
	OutOfMemory   Cause = "out-of-memory"
	Killed        Cause = "killed"
	Signalled     Cause = "signalled"
	Panicked      Cause = "panicked"
	Exited        Cause = "exited"
)

// Outside reports whether something other than the copy's actions ended it: a SIGKILL that no limit
// explains, or a machine out of memory.
func (c Cause) Outside() bool { return c == Killed || c == MachineMemory }

// Cause returns how the copy ended, if it did not end well.
func (e Ended) Cause() Cause {
	switch {
	case e.late:
		return TookTooLong
	case e.signal == unix.SIGKILL && e.Processor >= e.limits.Processor:
		return ProcessorTime
	case e.lacksMemory() && !e.overMemory():
		return MachineMemory
	case e.lacksMemory():
		return OutOfMemory
	case e.signal == unix.SIGKILL:
		return Killed
	case e.signal != 0:
		return Signalled
	case e.says("panic: "), e.says("fatal error: "), e.says("WARNING: DATA RACE"):
		return Panicked
	default:
		return Exited
	}
}

// Why says in a sentence why the copy did not end well.
func (e Ended) Why() string {
	switch e.Cause() {
	case TookTooLong:
		return fmt.Sprintf("it took longer than %v on the clock, %v of it on a processor: the machine is busy with something else, or the run waits for something outside of it",
			e.limits.Clock, e.Processor.Round(time.Millisecond))
	case ProcessorTime:
		return fmt.Sprintf("it took longer than %v of processor time", e.limits.Processor)
	case MachineMemory:
		return "the machine had no memory left for it"
	case OutOfMemory:
		return fmt.Sprintf("it needed more than %d MiB of memory beside what it began with", e.limits.Memory>>20)
	case Killed:
		return "it was killed with SIGKILL, by somebody or by a system without memory"
	case Signalled:
		return fmt.Sprintf("it was killed by a signal (%v)", e.signal)
	case Panicked:
		return fmt.Sprintf("it panicked, with exit status %d", e.exit)
	default:
		return fmt.Sprintf("it ended its process with exit status %d", e.exit)
	}
}
