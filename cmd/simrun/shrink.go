package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/search/shrink"
	"github.com/watchsim/watchsim/search/swarm"
)

// shrinkFlags are what shrink takes.
type shrinkFlags struct {
	guarantee, out string
	budget         time.Duration
	workers        int
}

// shrinkCommand makes a failing run smaller.
func shrinkCommand() *cobra.Command {
	var flags shrinkFlags
	command := &cobra.Command{
		Use:   "shrink FOLDER",
		Short: "make a failing run smaller while the same guarantee stays broken",
		Long: "shrink leaves out clients, operations, faults, time and context switches of a failing run while the same\n" +
			"guarantee stays broken, and writes what is left as a run of its own, to be replayed like any other.\n" +
			"It stops when nothing can be left out any more, when the budget is used up, or at Ctrl-C, and keeps\n" +
			"the best so far.\n\n" +
			"It first tries to have goroutines take turns, without any choice of the scheduler: such a run survives\n" +
			"most edits of the code. Its clients take the steps that run.json lists: each asks for the same whether\n" +
			"those before it are taken or not, so that lines can be removed by hand, and faults from plan.txt.\n\n" +
			"Exit codes: 0 a smaller run was written, 2 bad usage, 3 the run breaks no guarantee any more.",
		Args: one("the folder of one failing run"),
		RunE: func(command *cobra.Command, arguments []string) error {
			return flags.shrink(command, arguments[0])
		},
	}
	limits := swarm.DefaultLimits()
	command.Flags().StringVar(&flags.guarantee, "guarantee", "", "the guarantee to keep broken (default: the first that the run breaks)")
	command.Flags().StringVar(&flags.out, "out", "", "folder for the smaller run (default: FOLDER-shrunk)")
	command.Flags().DurationVar(&flags.budget, "budget", 45*time.Second, "real time after which the best so far is kept")
	command.Flags().IntVar(&flags.workers, "workers", limits.Workers, "number of worker processes")
	return command
}

func (f *shrinkFlags) shrink(command *cobra.Command, folder string) error {
	switch {
	case f.workers < 1:
		return fmt.Errorf("--workers: expected at least 1, found %d", f.workers)
	case f.budget <= 0:
		return fmt.Errorf("--budget: expected a time above zero, found %v", f.budget)
	}
	recorded, binary, err := recordedRun(folder)
	if err != nil {
		return err
	}
	if f.out == "" {
		f.out = filepath.Clean(folder) + "-shrunk"
	}
	whole := shrink.Case{Spec: recorded.Spec, Tape: recorded.Tape}
	if f.guarantee == "" {
		if f.guarantee, err = f.broken(command.Context(), binary, whole); err != nil {
			return f.refuse(err, folder, command.ErrOrStderr())
		}
	}
	result, took, err := f.search(command, binary, whole)
	if err != nil {
		return f.refuse(err, folder, command.ErrOrStderr())
	}
	// The best so far is written also after an interrupt.
	answer, err := write(context.WithoutCancel(command.Context()), binary, result.Case, f.guarantee, f.out)
	if err != nil {
		return err
	}
	f.report(command.OutOrStdout(), result, answer, took, folder)
	return nil
}

// broken is the first guarantee that a run breaks.
func (f *shrinkFlags) broken(ctx context.Context, binary string, whole shrink.Case) (string, error) {
	answer, err := swarm.Once(ctx, binary, swarm.Job{Spec: whole.Spec, Tape: whole.Tape}, swarm.DefaultLimits())
	if err != nil {
		return "", err
	}
	for _, violation := range answer.Verdict.Violations {
		return violation.Guarantee, nil
	}
	return "", shrink.ErrNotBroken
}

// refuse turns a run that does not fail into a sentence and an exit code.
func (f *shrinkFlags) refuse(err error, folder string, notes io.Writer) error {
	if !errors.Is(err, shrink.ErrNotBroken) {
		return err
	}
	wanted := "a guarantee"
	if f.guarantee != "" {
		wanted = f.guarantee
	}
	fmt.Fprintf(notes, "simrun: expected the run in %s to break %s, found that it does not; "+
		"is the code or the toolchain another one than when it was recorded?\n", folder, wanted)
	return exit(exitInconclusive)
}

// search makes the run smaller and says on standard error how far it is.
func (f *shrinkFlags) search(command *cobra.Command, binary string, whole shrink.Case) (shrink.Result, time.Duration, error) {
	limits := swarm.DefaultLimits()
	limits.Workers = f.workers
	pool := swarm.NewPool(binary, limits)
	defer pool.Close()
	notes := command.ErrOrStderr()
	fmt.Fprintf(notes, "keeping %s broken; %d workers, %v of real time; Ctrl-C keeps the best so far\n", f.guarantee, f.workers, f.budget)
	start := time.Now()
	progress := newStatusLine(notes)
	result, err := shrink.Shrink(command.Context(), shrink.Config{
		Try: shrink.Runner(pool, f.guarantee, ""), Workers: f.workers, Budget: f.budget,
		Progress: func(status shrink.Status) {
			progress.say(fmt.Sprintf("%3.0f s: %s", time.Since(start).Seconds(), status))
		},
	}, whole, f.guarantee)
	progress.end()
	if command.Context().Err() != nil && err == nil {
		fmt.Fprintln(notes, "interrupted: this is the best so far")
	}
	return result, time.Since(start), err
}

// write runs the smaller run in a fresh worker, which writes its artefacts.
func write(ctx context.Context, binary string, smaller shrink.Case, guarantee, out string) (swarm.Answer, error) {
	folder, err := scenario.NewFolder(out)
	if err != nil {
		return swarm.Answer{}, err
	}
	defer os.Remove(folder) // if nothing was written
	job := swarm.Job{Spec: smaller.Spec, Tape: smaller.Tape, Folder: folder, Details: true}
	answer, err := swarm.Once(ctx, binary, job, swarm.DefaultLimits())
	if err == nil && !shrink.Breaks(answer.Verdict, guarantee) {
		err = fmt.Errorf("%w: the smaller run broke %s, but not in a fresh process; it is in %s", swarm.ErrNotDeterministic, guarantee, folder)
	}
	return answer, err
}

// report prints what was left out, and how to see the rest.
func (f *shrinkFlags) report(out io.Writer, result shrink.Result, answer swarm.Answer, took time.Duration, folder string) {
	fmt.Fprintf(out, "%s\n\n", strings.TrimRight(answer.Report, "\n"))
	before, after := result.Before, answer.Details
	row := func(what string, was, is int) { fmt.Fprintf(out, "  %-22s %7d -> %d\n", what, was, is) }
	row("operations", before.Operations, answer.Verdict.Operations)
	row("clients", len(before.Details.Parts), len(after.Parts))
	row("faults", before.Details.Faults(), after.Faults())
	row("forced switches", before.Details.Forced.Switches, after.Forced.Switches)
	row("stalls", before.Details.Forced.Stalls, after.Forced.Stalls)
	row("etcd members", result.Whole.Spec.Members, result.Case.Spec.Members)
	row("API servers", result.Whole.Spec.Servers, result.Case.Spec.Servers)
	fmt.Fprintf(out, "  %-22s %7.1f -> %.1f\n", "simulated seconds", before.Seconds, answer.Verdict.SimulatedSeconds)
	end := "nothing else can be left out"
	if !result.Complete {
		end = "the search was cut short"
	}
	fmt.Fprintf(out, "\n  %d runs tried in %.1f s; %s\n  artefacts in %s\n  again: simrun replay %s\n",
		result.Tried, took.Seconds(), end, answer.Verdict.Folder, shown(answer.Verdict.Folder))
}

// shown is a path as short as it can be from here.
func shown(path string) string {
	if here, err := os.Getwd(); err == nil {
		if relative, err := filepath.Rel(here, path); err == nil && !strings.HasPrefix(relative, "..") {
			return relative
		}
	}
	return path
}

// statusLine shows what comes last: over itself on a terminal, and otherwise a line
// now and then.
type statusLine struct {
	out   io.Writer
	width func() int // of the terminal, nil if there is none
	shown int
	last  time.Time
}

const statusPeriod = 5 * time.Second

func newStatusLine(out io.Writer) *statusLine {
	line := &statusLine{out: out, last: time.Now()}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		line.width = func() int {
			width, _, _ := term.GetSize(int(file.Fd()))
			return width
		}
	}
	return line
}

func (l *statusLine) say(text string) {
	if l.width != nil {
		text = text[:min(len(text), max(0, l.width()-1))]
		fmt.Fprintf(l.out, "\r%-*s", l.shown, text)
		l.shown = len(text)
		return
	}
	if time.Since(l.last) >= statusPeriod {
		l.last = time.Now()
		fmt.Fprintln(l.out, text)
	}
}

func (l *statusLine) end() {
	if l.shown > 0 {
		fmt.Fprintln(l.out)
	}
}
