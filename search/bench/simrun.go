package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// object is what simrun --json prints of a run, as far as it matters here.
type object struct {
	Verdict          string  `json:"verdict"`
	SimulatedSeconds float64 `json:"simulated_seconds"`
	WallSeconds      float64 `json:"wall_seconds"`
	CheckSeconds     float64 `json:"check_seconds"`
}

// sum adds up the objects of a range.
type sum struct {
	runs, passed           int
	simulated, wall, check float64
	peakMemory             int64         // bytes, coordinator and workers together
	processor              time.Duration // theirs, together
	faults                 int64         // page faults, theirs together
	steady                 time.Duration // from the first object to the last
}

// processorEach is the processor time of a seed in seconds, all that is paid once included.
func (s sum) processorEach() float64 { return s.processor.Seconds() / float64(s.runs) }

// simrun runs a range of seeds and adds up what it says. Runs that fail count:
// they are measured, not judged.
func simrun(s settings, arguments ...string) (sum, error) {
	out, err := os.MkdirTemp("", "watchsim-bench-")
	if err != nil {
		return sum{}, err
	}
	defer os.RemoveAll(out)
	fmt.Fprintf(s.notes, "+ %s %s\n", s.simrun, strings.Join(arguments, " "))
	command := exec.Command(s.simrun, append(arguments, "--json", "--out", out)...)
	command.Stderr = io.Discard
	stdout, err := command.StdoutPipe()
	if err != nil {
		return sum{}, err
	}
	if err := command.Start(); err != nil {
		return sum{}, fmt.Errorf("%w; run `make build` first", err)
	}
	stop := make(chan struct{})
	peak := watchMemory(command.Process.Pid, stop)
	total, err := add(stdout)
	close(stop)
	total.peakMemory = <-peak
	waited := command.Wait()
	total.processor = command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	if usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
		total.faults = usage.Minflt + usage.Majflt
	}
	var exited *exec.ExitError
	if errors.As(waited, &exited) && exited.ExitCode() != 2 {
		waited = nil // failed, or inconclusive
	}
	if err = errors.Join(err, waited); err != nil {
		return sum{}, fmt.Errorf("%s %s: %w", s.simrun, strings.Join(arguments, " "), err)
	}
	if total.runs < 2 {
		return sum{}, fmt.Errorf("expected at least 2 runs, found %d", total.runs)
	}
	return total, nil
}

func add(stdout io.Reader) (sum, error) {
	var total sum
	var first time.Time
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var o object
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return total, err
		}
		if total.runs == 0 {
			first = time.Now()
		}
		total.steady = time.Since(first)
		total.runs++
		if o.Verdict == "passed" {
			total.passed++
		}
		total.simulated += o.SimulatedSeconds
		total.wall += o.WallSeconds
		total.check += o.CheckSeconds
	}
	return total, lines.Err()
}
