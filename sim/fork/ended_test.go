package fork

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What the machine does to a copy is distinguished from what the copy does: by whether a limit of
// the copy can be the reason.
func TestTheMachineIsToldFromTheRun(t *testing.T) {
	limits := Limits{Processor: 60, Memory: 6 << 30}
	refused := func(text string, used int64) Ended {
		return Ended{exit: 2, Output: []byte(text), Memory: used}
	}
	for name, row := range map[string]struct {
		ended   Ended
		cause   Cause
		outside bool
	}{
		"killed":                   {Ended{signal: unix.SIGKILL, Processor: 5}, Killed, true},
		"killed at a limit":        {Ended{signal: unix.SIGKILL, Processor: 61}, ProcessorTime, false},
		"late":                     {Ended{late: true}, TookTooLong, false},
		"refused early":            {refused("panic: mmap: cannot allocate memory", 100<<20), MachineMemory, true},
		"refused at the limit":     {refused("panic: mmap: cannot allocate memory", 5<<30), OutOfMemory, false},
		"refused a small block":    {refused("runtime: out of memory: cannot allocate 4194304-byte block (96468992 in use)\nfatal error: out of memory", 100<<20), MachineMemory, true},
		"refused a block too many": {refused("runtime: out of memory: cannot allocate 17179869184-byte block (4194304 in use)\nfatal error: out of memory", 100<<20), OutOfMemory, false},
		"panicked":                 {refused("panic: index out of range", 100<<20), Panicked, false},
	} {
		row.ended.limits = limits
		require.Equal(t, row.cause, row.ended.Cause(), name)
		require.Equal(t, row.outside, row.ended.Cause().Outside(), name)
	}
}
