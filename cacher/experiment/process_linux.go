package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns how much CPU time a process has used in all its threads, user
// and system. It reads the process' own clock, which counts nanoseconds where
// /proc counts hundredths of a second.
func cpuTime(pid int) (time.Duration, error) {
	const scheduler = 2 // of the clocks that clock_getcpuclockid(3) can name, CLOCK_PROCESS_CPUTIME_ID's
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|scheduler, &t); err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// residentBytes returns how much memory of a process is in RAM.
func residentBytes(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0, fmt.Errorf("expected sizes in pages in statm of process %d, found %q", pid, text)
	}
	return resident * int64(os.Getpagesize()), nil
}
