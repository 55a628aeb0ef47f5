package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/watchsim/watchsim/sim/mutant"
)

// verdict is what simrun prints for a run, as far as a hunt looks at it.
type verdict struct {
	Seed       uint64 `json:"seed"`
	Outcome    string `json:"verdict"`
	Reason     string `json:"reason"`
	Violations []struct {
		Guarantee string `json:"guarantee"`
		Text      string `json:"text"`
	} `json:"violations"`
}

// The outcomes of a run.
const (
	passed = "passed"
	failed = "failed"
)

// guarantees are those that the run broke, each once.
func (v verdict) guarantees() []string {
	var names []string
	if v.neverEnds() {
		names = append(names, "(never ends)")
	}
	for _, violation := range v.Violations {
		if !slices.Contains(names, violation.Guarantee) {
			names = append(names, violation.Guarantee)
		}
	}
	return names
}

// tooSlow is true for a run that was given up because real time ran out, which on a
// loaded machine says nothing about the code.
func (v verdict) tooSlow() bool {
	return len(v.Violations) == 1 && strings.Contains(v.Violations[0].Text, "took longer than")
}

// neverEnds is true for a run that used up its simulated time: somebody waits for
// ever, with the history open. simrun calls that inconclusive, as it cannot tell who
// is to blame. A hunt can, as the same seed ends without the bug.
func (v verdict) neverEnds() bool {
	return v.Outcome != failed && strings.Contains(v.Reason, "simulated time is used up")
}

// witness is the first line of what the run found.
func (v verdict) witness() string {
	if len(v.Violations) == 0 {
		return v.Reason
	}
	line, _, _ := strings.Cut(v.Violations[0].Text, "\n")
	return line
}

// runSeeds runs simrun with a mutant on, or none, and calls take with each verdict,
// until take returns false or all seeds are done. It returns the processor time that
// was used.
func runSeeds(ctx context.Context, binary, on string, arguments []string, take func(verdict) (more bool)) (time.Duration, error) {
	out, err := os.MkdirTemp("", "hunt-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(out)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	simrun := exec.CommandContext(ctx, binary, append(arguments, "--workers", "1", "--json", "--out", out)...)
	simrun.Env = append(os.Environ(), mutant.Variable+"="+on)
	simrun.Cancel = func() error { return simrun.Process.Signal(syscall.SIGINT) }
	simrun.WaitDelay = time.Minute
	var complaint strings.Builder
	simrun.Stderr = &complaint
	verdicts, err := simrun.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := simrun.Start(); err != nil {
		return 0, err
	}
	lines := bufio.NewScanner(verdicts)
	lines.Buffer(nil, 64<<20)
	stopped := false
	var unread error
	for lines.Scan() {
		var v verdict
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			unread = fmt.Errorf("expected a verdict as JSON from %s, found %q: %w", binary, lines.Text(), err)
			stopped = true
		} else if !stopped {
			stopped = !take(v)
		}
		if stopped {
			cancel() // and read on, so that simrun can end
		}
	}
	err = simrun.Wait()
	used := simrun.ProcessState.UserTime() + simrun.ProcessState.SystemTime()
	// 1 and 3 are verdicts; 2 is a run that could not be made.
	var exit *exec.ExitError
	switch {
	case unread != nil:
		return used, unread
	case stopped || err == nil || ctx.Err() != nil:
		return used, nil
	case errors.As(err, &exit) && exit.ExitCode() != 2:
		return used, nil
	}
	return used, fmt.Errorf("%s %s: %w: %s", binary, strings.Join(arguments, " "), err, lastLines(complaint.String()))
}

// lastLines is the end of a text: why a process gave up.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
