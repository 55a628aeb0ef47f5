package fork

import (
	"bytes"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Ended is how a copy ended.
type Ended struct {
	// Answer is what it left with, whole only if the copy ended well.
	Answer []byte
	// Output is what it wrote to standard output and error.
	Output []byte
	// Processor is the processor time that it took, Memory the most that it had, shared
	// with the original or not, in bytes.
	Processor time.Duration
	Memory    int64

	exit   int
	signal syscall.Signal // 0 for none
	late   bool
	limits Limits
}

// Well reports whether the copy ended by leaving.
func (e Ended) Well() bool { return !e.late && e.signal == 0 && e.exit == 0 }

// Why says in a sentence how a copy ended that did not end well.
func (e Ended) Why() string {
	says := func(text string) bool { return bytes.Contains(e.Output, []byte(text)) }
	switch {
	case e.late:
		return fmt.Sprintf("it took longer than %v on the clock, %v of it on a processor: the machine is busy with something else, or the run waits for something outside of it",
			e.limits.Clock, e.Processor.Round(time.Millisecond))
	case e.signal == unix.SIGKILL && e.Processor >= e.limits.Processor:
		return fmt.Sprintf("it took longer than %v of processor time", e.limits.Processor)
	case says("fatal error: out of memory"), says("fatal error: runtime: cannot allocate"), says("cannot allocate memory"):
		return fmt.Sprintf("it needed more than %d MiB of memory beside what it began with", e.limits.Memory>>20)
	case e.signal == unix.SIGKILL:
		return "it was killed with SIGKILL, by somebody or by a system without memory"
	case e.signal != 0:
		return fmt.Sprintf("it was killed by a signal (%v)", e.signal)
	case says("panic: "), says("fatal error: "), says("WARNING: DATA RACE"):
		return fmt.Sprintf("it panicked, with exit status %d", e.exit)
	default:
		return fmt.Sprintf("it ended its process with exit status %d", e.exit)
	}
}
