package swarm

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is what a process has used of processors so far, in all its threads.
// The number of its clock is the one that clock_getcpuclockid(3) gives.
func processorTime(pid int) (time.Duration, error) {
	const scheduler = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|scheduler, &t); err != nil {
		return 0, fmt.Errorf("cannot tell the processor time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}
