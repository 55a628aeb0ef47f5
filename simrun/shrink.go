package simrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/search/shrink"
	"github.com/watchsim/watchsim/search/swarm"
)

// shrinkFlags are the flags of `simrun shrink`.
type shrinkFlags struct {
	guarantee, out string
	budget         time.Duration
	workers        int
	verbose        bool
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
		Example: "  simrun shrink out/cacher-minute-7\n" +
			"  simrun shrink --guarantee Reliable --budget 5m -o small out/cacher-minute-7",
		Args: expecting(1, "the folder of one failing run"),
		RunE: func(command *cobra.Command, arguments []string) error { return flags.shrink(command, arguments[0]) },
	}
	command.Flags().StringVar(&flags.guarantee, "guarantee", "", "`name` of the guarantee to keep broken (default: the first that the run breaks)")
	command.Flags().StringVarP(&flags.out, "out", "o", "", "`folder` for the smaller run (default: FOLDER-shrunk)")
	command.Flags().DurationVar(&flags.budget, "budget", 45*time.Second, "real time after which the best so far is kept")
	registerWorkers(command, &flags.workers)
	registerVerbose(command, &flags.verbose)
	complete(command, "guarantee", guaranteeNames)
	return command
}

func (f *shrinkFlags) shrink(command *cobra.Command, folder string) error {
	if f.budget <= 0 {
		return fmt.Errorf("--budget: expected a time above zero, found %v", f.budget)
	}
	if err := checkGuarantee(f.guarantee); err != nil {
		return err
	}
	recorded, binary, err := recordedRun(command.ErrOrStderr(), folder)
	if err != nil {
		return err
	}
	f.out = cmp.Or(f.out, filepath.Clean(folder)+"-shrunk")
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
	// The best so far is written even after an interrupt.
	answer, err := write(context.WithoutCancel(command.Context()), binary, result.Case, f.guarantee, f.out, f.verbose)
	if err != nil {
		return err
	}
	f.report(command.OutOrStdout(), result, answer, took)
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

// refuse turns a run that does not fail into a message and an exit code.
func (f *shrinkFlags) refuse(err error, folder string, notes io.Writer) error {
	if !errors.Is(err, shrink.ErrNotBroken) {
		return err
	}
	fmt.Fprintf(notes, "simrun: expected the run in %s to break %s, found that it does not; "+
		"if its report.txt says FAILED, the code or the toolchain is another one than when it was recorded\n", folder, cmp.Or(f.guarantee, "a guarantee"))
	return exit(exitInconclusive)
}

// search shrinks the run and shows progress on standard error.
func (f *shrinkFlags) search(command *cobra.Command, binary string, whole shrink.Case) (shrink.Result, time.Duration, error) {
	pool := swarm.NewPool(binary, swarm.DefaultLimits().WithWorkers(f.workers))
	defer pool.Close()
	notes := command.ErrOrStderr()
	fmt.Fprintf(notes, "keeping %s broken; %d workers, %v of real time; Ctrl-C keeps the best so far\n", f.guarantee, f.workers, f.budget)
	progress := newStatusLine(notes)
	result, err := shrink.Shrink(command.Context(), shrink.Config{
		Try: shrink.Runner(pool, f.guarantee, ""), Workers: f.workers, Budget: f.budget,
		Progress: func(status shrink.Status) { progress.say("%s", status) },
	}, whole, f.guarantee)
	progress.clear()
	if command.Context().Err() != nil && err == nil {
		fmt.Fprintln(notes, "interrupted: this is the best so far")
	}
	return result, time.Since(progress.began), err
}

// write runs the smaller run in a fresh worker, which writes its artifacts.
func write(ctx context.Context, binary string, smaller shrink.Case, guarantee, out string, verbose bool) (swarm.Answer, error) {
	folder, err := scenario.NewFolder(out)
	if err != nil {
		return swarm.Answer{}, err
	}
	defer os.Remove(folder) // if nothing was written
	job := swarm.Job{Spec: smaller.Spec, Tape: smaller.Tape, Folder: folder, Details: true, Verbose: verbose}
	answer, err := swarm.Once(ctx, binary, job, swarm.DefaultLimits())
	if err == nil && !shrink.Breaks(answer.Verdict, guarantee) {
		err = fmt.Errorf("%w: the smaller run broke %s, but not in a fresh process; it is in %s", swarm.ErrNotDeterministic, guarantee, folder)
	}
	return answer, err
}

// report prints what was left out, and how to see the smaller run.
func (f *shrinkFlags) report(out io.Writer, result shrink.Result, answer swarm.Answer, took time.Duration) {
	fmt.Fprintf(out, "%s\n", paint(out, answer.Report))
	before, after := result.Before, answer.Details
	row := func(what string, was, is int) { fmt.Fprintf(out, "  %-22s %7d -> %d\n", what, was, is) }
	row("operations", before.Operations, answer.Verdict.Operations)
	row("clients", len(before.Details.Parts), len(after.Parts))
	row("faults", before.Details.Faults(), after.Faults())
	row("forced switches", before.Details.Forced.Switches, after.Forced.Switches)
	row("stalls", before.Details.Forced.Stalls, after.Forced.Stalls)
	needed := shrink.Knobs(result.Case.Spec)
	row("unusual knobs", len(shrink.Knobs(result.Whole.Spec)), len(needed))
	fmt.Fprintf(out, "  %-22s %7.1f -> %.1f\n", "simulated seconds", before.Seconds, answer.Verdict.SimulatedSeconds)
	if len(needed) > 0 {
		fmt.Fprintf(out, "  it needs %s\n", strings.Join(needed, " "))
	}
	end := "nothing else can be left out"
	if !result.Complete {
		end = "the search was cut short"
	}
	fmt.Fprintf(out, "\n  %d runs tried in %.1f s; %s\n  artifacts in %s\n  again: simrun replay %s\n",
		result.Tried, took.Seconds(), end, answer.Verdict.Folder, shown(answer.Verdict.Folder))
}
