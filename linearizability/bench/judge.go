package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

// judged is what it took to judge one history.
type judged struct {
	Events     int     `json:"events"`
	Streams    int     `json:"streams"`
	Operations int     `json:"operations"`
	CPU        float64 `json:"cpu_seconds"`  // of the whole process, garbage collection included
	Wall       float64 `json:"wall_seconds"` // what else the machine does is in it
}

// rate is watch events a second of one core, all other work on the history
// included.
func (j judged) rate() float64 { return float64(j.Events) / j.CPU }

// judge checks a history, which must pass.
func judge(history *model.History) (judged, error) {
	runtime.GC() // of what making the history left behind
	used, began := processorTime(), time.Now()
	verdict := linearizability.Check(history, linearizability.DefaultConfig())
	found := judged{CPU: processorTime() - used, Wall: time.Since(began).Seconds(),
		Events: verdict.Counts.Events, Streams: verdict.Counts.Streams, Operations: len(history.Operations)}
	if verdict.Outcome != linearizability.Passed {
		return found, fmt.Errorf("expected the generated history to pass, found %s: %s %w", verdict.Outcome, verdict.Reason, verdict.Err())
	}
	return found, nil
}

// processorTime is what the process has used so far, in seconds.
func processorTime() float64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// peakMemory is the most that has been resident so far, in bytes.
func peakMemory() (int64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status: expected a line VmHWM, found none")
}
