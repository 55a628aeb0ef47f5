package simrun

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/search/swarm"
)

// stop replays a run up to a place in it.
func (f *replayFlags) stop(command *cobra.Command, binary, folder string, recorded scenario.Recorded, job swarm.Job) error {
	history := func() (*model.History, error) { return historyAt(folder) }
	text := f.until + f.breakAt // one of them is empty
	place, err := parseWhere(text, history)
	if err != nil {
		return err
	}
	began := recorded.Began
	if began == 0 && place.decision == 0 {
		// The folder is of before it was written down.
		answer, err := swarm.Once(command.Context(), binary, swarm.Job{Spec: recorded.Spec, Tape: recorded.Tape}, swarm.DefaultLimits())
		if err != nil {
			return err
		}
		began = answer.Began
	}
	if job.BreakAt = place.decision; place.decision == 0 {
		// Include what happens at that instant.
		job.Until = began + place.at + 1
	}
	if f.breakAt != "" {
		return underDelve(command, binary, job, text)
	}
	if f.log {
		job.Log = filepath.Join(job.Folder, "log.txt")
	}
	answer, err := swarm.Once(command.Context(), binary, job, swarm.DefaultLimits())
	if err != nil {
		return err
	}
	return f.stopped(command.OutOrStdout(), folder, recorded, job, answer, began)
}

// lastShown is how many past events a stop shows.
const lastShown = 8

// stopped shows what a stopped run was doing.
func (f *replayFlags) stopped(out io.Writer, folder string, recorded scenario.Recorded, job swarm.Job, answer swarm.Answer, began time.Duration) error {
	followed, err := scenario.Load(job.Folder)
	if err != nil {
		return err
	}
	at := time.Duration(answer.Verdict.SimulatedSeconds*float64(time.Second)) - began
	fmt.Fprintf(out, "STOPPED  seed %d at %.6fs, after %d decisions\n", recorded.Spec.Seed, at.Seconds(), answer.Verdict.Decisions)
	if !follows(followed.Tape, recorded.Tape) {
		fmt.Fprintln(out, "  the replay differs: these are not the decisions that were recorded;\n  the code or the toolchain is not the one that recorded them")
		if err := firstDifference(out, folder, job.Folder, recorded.Build); err != nil {
			return err
		}
		return exit(exitInconclusive)
	}
	fmt.Fprintf(out, "  the decisions so far are those that were recorded\n")
	if moments, err := momentsOf(folder); err == nil {
		fmt.Fprintf(out, "\n  what happened last:\n%s", lastSteps(moments, -1, at, lastShown))
	}
	if f.stacks {
		stacks, err := os.ReadFile(filepath.Join(job.Folder, "stacks.txt"))
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		fmt.Fprintf(out, "\n%s", stacks)
	}
	fmt.Fprintf(out, "\n  artifacts in %s\n", job.Folder)
	return nil
}

// lastSteps lists the last n moments after one time and up to another.
func lastSteps(moments []explain.Moment, from, to time.Duration, n int) string {
	between := slices.DeleteFunc(slices.Clone(moments), func(m explain.Moment) bool { return m.Time <= int64(from) || m.Time > int64(to) })
	return explain.Steps(2, between[max(0, len(between)-n):])
}

// follows reports whether a truncated tape begins like another one, which may lack the default
// choices at its end.
func follows(begun, whole []byte) bool {
	return bytes.HasPrefix(slices.Concat(whole, make([]byte, len(begun))), begun)
}

// delveScript are the debugger's first commands.
const delveScript = `break watchsim github.com/watchsim/watchsim/sim.Here
continue
`

// underDelve stops a run in a debugger.
func underDelve(command *cobra.Command, binary string, job swarm.Job, place string) error {
	job.Stop = true
	line, err := json.Marshal(swarm.Sealed(job))
	if err != nil {
		return err
	}
	jobFile, script := filepath.Join(job.Folder, "job.json"), filepath.Join(job.Folder, "break.dlv")
	if err := errors.Join(os.WriteFile(jobFile, append(line, '\n'), 0o644), os.WriteFile(script, []byte(delveScript), 0o644)); err != nil {
		return err
	}
	arguments := []string{"exec", binary, "--init", script, "--", hereArgument, jobFile}
	delve, err := exec.LookPath("dlv")
	if err != nil {
		fmt.Fprintf(command.OutOrStdout(), "  Delve is not in the PATH; install it with\n\n    go install github.com/go-delve/delve/cmd/dlv@latest\n\n"+
			"  and run this again, or\n\n    GOMAXPROCS=1 dlv %s\n", strings.Join(arguments, " "))
		return exit(exitUsage)
	}
	fmt.Fprintf(command.ErrOrStderr(), "the run stands still at %s; `goroutines -with user` lists where everybody is, `goroutine N bt` one of them\n", place)
	return syscall.Exec(delve, append([]string{"dlv"}, arguments...), append(os.Environ(), "GOMAXPROCS=1"))
}

// hereArgument is the hidden command that does one job in this process, for a debugger.
const hereArgument = "here"

func hereCommand() *cobra.Command {
	return &cobra.Command{
		Use:    hereArgument + " JOB",
		Short:  "do one job in this process, for a debugger",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) (err error) {
			job, err := os.Open(arguments[0])
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, job.Close()) }()
			return swarm.Work(job, command.OutOrStdout(), findTarget)
		},
	}
}
