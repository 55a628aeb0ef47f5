package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/watchsim/watchsim/search/campaign"
)

// killed is the exit code that Kubernetes reports of a container that was
// killed with SIGKILL.
const killed = 137

// pollEvery is how often a pod that is to be killed is looked at.
const pollEvery = 20 * time.Millisecond

// runner runs a job's pods as processes.
type runner struct {
	job             *job
	binary, results string
	kill            int // the index to be killed once, negative for none

	mu  sync.Mutex
	out io.Writer
}

// run runs all indexes. The error is about a pod that could not be started, or
// a run that was interrupted.
func (r *runner) run(ctx context.Context) error {
	indexes := make(chan int)
	errs := make([]error, r.job.completions)
	var nodes sync.WaitGroup
	for range min(r.job.parallelism, r.job.completions) {
		nodes.Go(func() {
			for index := range indexes {
				errs[index] = r.index(ctx, index)
			}
		})
	}
	for index := range r.job.completions {
		indexes <- index
	}
	close(indexes)
	nodes.Wait()
	return errors.Join(errs...)
}

// index runs the pods of one index until one succeeds or the rules say that the
// index failed. Kubernetes would wait between two of them.
func (r *runner) index(ctx context.Context, index int) error {
	for failures := 0; ; {
		code, err := r.pod(ctx, index, failures == 0 && index == r.kill)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted: %w", ctx.Err())
		}
		if code == 0 {
			r.say("index %d: succeeded", index)
			return nil
		}
		switch action := r.job.afterExit(code); action {
		case batchv1.PodFailurePolicyActionFailIndex:
			r.say("index %d: exit code %d: failed", index, code)
			return nil
		case batchv1.PodFailurePolicyActionCount:
			failures++
		default:
			return fmt.Errorf("index %d: expected a rule for exit codes to be FailIndex or Count, found %s", index, action)
		}
		if failures > r.job.retries {
			r.say("index %d: exit code %d: failed, having been started %d times", index, code, failures)
			return nil
		}
		r.say("index %d: exit code %d: started again", index, code)
	}
}

// pod runs the container of an index once, and returns its exit code.
func (r *runner) pod(ctx context.Context, index int, kill bool) (int, error) {
	arguments := make([]string, len(r.job.arguments))
	for i, argument := range r.job.arguments {
		arguments[i] = strings.ReplaceAll(argument, r.job.mounted, r.results)
	}
	command := exec.CommandContext(ctx, r.binary, arguments...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%d", campaign.CompletionIndexVariable, index))
	log, err := os.OpenFile(filepath.Join(r.results, fmt.Sprintf("pod-%d.log", index)), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		return 0, fmt.Errorf("index %d: cannot start %s: %w; run `make build`", index, r.binary, err)
	}
	ended := make(chan struct{})
	if kill {
		go r.killInTheMiddle(command.Process, index, ended)
	}
	err = command.Wait()
	close(ended)
	var exited *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exited):
		return 0, err
	case !command.ProcessState.Exited():
		return killed, nil
	}
	return command.ProcessState.ExitCode(), nil
}

// killInTheMiddle kills a pod's process when its shard has a result. The shard
// may be done by then, and there is nothing to kill.
func (r *runner) killInTheMiddle(process *os.Process, index int, ended <-chan struct{}) {
	path := filepath.Join(r.results, campaign.Shard{Index: index + 1, Count: r.job.completions}.FileName())
	for {
		select {
		case <-ended:
			return
		case <-time.After(pollEvery):
		}
		if content, err := os.ReadFile(path); err == nil && bytes.Count(content, []byte("\n")) > 1 {
			_ = process.Kill()
			return
		}
	}
}

func (r *runner) say(format string, arguments ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, format+"\n", arguments...)
}
