package simrun

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/search/shrink"
	"github.com/watchsim/watchsim/search/swarm"
)

// replayFlags are the flags of `simrun replay`.
type replayFlags struct {
	json, trace, log, stacks bool
	prompt, verbose          bool
	until, breakAt           string
	branches                 []string
}

// replayCommand replays a recorded tape.
func replayCommand() *cobra.Command {
	var flags replayFlags
	command := &cobra.Command{
		Use:   "replay FOLDER",
		Short: "run a recorded tape again and say whether the hash agrees",
		Long: "replay runs a recorded tape again, writes the artifacts into a folder below, and says whether the hash\n" +
			"agrees; if it does not, which decision is the first that differs, and what the run was doing.\n\n" +
			"--prompt walks through the run, forwards and backwards: checkpoints make going back as quick as going on.\n" +
			"--branch continues with the schedule of another seed from a place on: another run, in a folder of its own.\n" +
			"--until stops early, at " + whereForms + ".\n" +
			"It says what had happened last, and --stacks where every goroutine is then. --break-at stops at such a\n" +
			"place under the debugger Delve. --log writes down what the cacher's libraries and etcd log, in simulated\n" +
			"time; --trace every goroutine switch, synchronisation point, decision and random number, with callers.\n" +
			"docs/replay.md has examples.\n\n" +
			"Of a run of the targets http and controlplane it runs the kept failure again, without any of the flags.",
		Example: "  simrun replay out/cacher-minute-7\n" +
			"  simrun replay --prompt out/cacher-minute-7\n" +
			"  simrun replay --until rv=32 --stacks out/cacher-minute-7\n" +
			"  simrun replay --branch 12.5s,seed=3 out/cacher-minute-7",
		Args: expecting(1, "the folder of one run"),
		RunE: func(command *cobra.Command, arguments []string) error { return flags.replay(command, arguments[0]) },
	}
	command.Flags().BoolVar(&flags.json, "json", false, "print the verdict as one JSON object on standard output")
	command.Flags().BoolVar(&flags.trace, "trace", false, "write down everything that happens; a hundred megabytes are usual")
	command.Flags().BoolVar(&flags.log, "log", false, "write down what is logged, in simulated time")
	command.Flags().BoolVar(&flags.prompt, "prompt", false, "read commands that go to places in the run, such as to 12.5s, back 3, stacks")
	registerVerbose(command, &flags.verbose)
	command.Flags().StringArrayVar(&flags.branches, "branch", nil, "go on by another seed from this `place` on, such as rv=32,seed=3; can be repeated")
	command.Flags().StringVar(&flags.until, "until", "", "stop at this `place`")
	command.Flags().BoolVar(&flags.stacks, "stacks", false, "print where every goroutine is at that place")
	command.Flags().StringVar(&flags.breakAt, "break-at", "", "stop at this `place` under Delve")
	return command
}

func (f *replayFlags) check() error {
	switch {
	case f.stacks && f.until == "":
		return fmt.Errorf("--stacks: expected --until with it, to say where to stop; found none")
	case f.prompt && (f.until != "" || f.breakAt != "" || f.trace || f.log || f.json):
		return fmt.Errorf("--prompt: expected none of --until, --stacks, --break-at, --trace, --log and --json with it, found one; the prompt has commands to go to a place and to print stacks")
	case len(f.branches) > 0 && (f.until != "" || f.breakAt != "" || f.prompt):
		return fmt.Errorf("--branch: expected a whole run to be made, found --until, --break-at or --prompt, too; use them on the folder that it leaves")
	case f.until != "" && f.breakAt != "":
		return errors.New("expected --until or --break-at, found both")
	case f.json && (f.until != "" || f.breakAt != ""):
		return fmt.Errorf("--json: expected a whole run, found one that is to stop early and has no verdict")
	}
	return nil
}

func (f *replayFlags) replay(command *cobra.Command, folder string) error {
	if r, is, err := readTested(folder); is {
		if err != nil {
			return err
		}
		return f.replayTested(command, folder, r)
	}
	if err := f.check(); err != nil {
		return err
	}
	recorded, binary, err := recordedRun(command.ErrOrStderr(), folder)
	if err != nil {
		return err
	}
	if f.prompt && len(recorded.Spec.Branches) > 0 {
		return fmt.Errorf("--prompt: expected a run that did not branch, found one with %d branches; --until and --break-at stop in it", len(recorded.Spec.Branches))
	}
	if f.prompt {
		return f.walk(command, binary, folder, recorded)
	}
	again := filepath.Join(folder, "replay")
	if len(f.branches) > 0 {
		if again, err = f.branch(folder, &recorded); err != nil {
			return err
		}
	}
	if again, err = scenario.NewFolder(again); err != nil {
		return err
	}
	defer os.Remove(again) // if nothing was written
	job := swarm.Job{Spec: recorded.Spec, Tape: recorded.Tape, Folder: again, Verbose: f.verbose}
	if f.until != "" || f.breakAt != "" {
		return f.stop(command, binary, folder, recorded, job)
	}
	if f.trace {
		job.Trace = filepath.Join(again, "trace.gz")
	}
	if f.log {
		job.Log = filepath.Join(again, "log.txt")
	}
	answer, err := swarm.Once(command.Context(), binary, job, swarm.DefaultLimits())
	if errors.Is(err, swarm.ErrDied) && len(f.branches) == 0 {
		return died(command.OutOrStdout(), recorded, again, err)
	}
	if err != nil {
		return err
	}
	if f.trace {
		if err := swarm.PrintTrace(job.Trace, filepath.Join(again, "trace.txt")); err != nil {
			return err
		}
	}
	out := command.OutOrStdout()
	if f.json {
		if err := json.NewEncoder(out).Encode(answer.Verdict); err != nil {
			return err
		}
		out = command.ErrOrStderr()
	}
	fmt.Fprintf(out, "%s\n", paint(out, answer.Report))
	if len(f.branches) > 0 {
		fmt.Fprintf(out, "  another run than the recorded one from its first branch on\n  artifacts in %s\n", again)
		return outcomeExit(answer.Verdict.Outcome)
	}
	if answer.Diverged || answer.Verdict.Hash != recorded.Hash {
		why := fmt.Sprintf("expected the hash %s, found %s", recorded.Hash, answer.Verdict.Hash)
		switch {
		case recorded.Hash == "":
			why = "expected the process to die in the middle of it, found a whole run"
		case answer.Diverged:
			why = "the tape has a choice that the run does not have, or ends before it"
		}
		fmt.Fprintf(out, "  the replay differs: %s;\n  the code or the toolchain is not the one that recorded it\n", why)
		if f.log {
			fmt.Fprintln(out, "  (or what is logged has changed the run, which without --log may agree)")
		}
		if err := firstDifference(out, folder, again, recorded.Build); err != nil {
			return err
		}
		return differs(out, recorded.Spec, answer.Verdict)
	}
	fmt.Fprintf(out, "  the hash agrees: %s\n  artifacts in %s\n", recorded.Hash, again)
	return outcomeExit(answer.Verdict.Outcome)
}

// branch adds branches to a recorded run, which then follows its seed instead of its tape, and
// returns the folder for the new run, beside the recorded one.
func (f *replayFlags) branch(folder string, recorded *scenario.Recorded) (string, error) {
	if recorded.Spec.Reduced != nil || recorded.Spec.Explore != nil {
		return "", fmt.Errorf("--branch: expected a run that follows its seed, found one in %s that follows its tape", folder)
	}
	for _, text := range f.branches {
		branch, err := parseBranch(text, recorded.Spec, func() (*model.History, error) { return historyAt(folder) })
		if err != nil {
			return "", err
		}
		recorded.Spec.Branches = append(recorded.Spec.Branches, branch)
	}
	recorded.Tape = nil
	if err := recorded.Spec.Validate(); err != nil {
		return "", err
	}
	absolute, err := filepath.Abs(folder)
	return filepath.Join(filepath.Dir(absolute), recorded.Spec.Name()), err
}

// outcomeExit turns the outcome of a verdict into an exit code.
func outcomeExit(outcome linearizability.Outcome) error {
	return seedsExit(outcome == linearizability.Failed, false, outcome != linearizability.Passed)
}

// died reports a replay whose worker died in the middle of it.
func died(out io.Writer, recorded scenario.Recorded, again string, err error) error {
	fmt.Fprintf(out, "%v\n\n", err)
	repeated, loadErr := scenario.Load(again)
	switch {
	case recorded.Hash != "":
		fmt.Fprintln(out, "  the replay differs: expected a whole run, found one whose process dies")
		return exit(exitInconclusive)
	case loadErr != nil || !bytes.Equal(repeated.Tape, recorded.Tape):
		fmt.Fprintln(out, "  the process died, as it did when the run was recorded, but after other decisions")
		return exit(exitInconclusive)
	}
	fmt.Fprintln(out, "  the process died after the same decisions as when the run was recorded")
	return exit(exitFailed)
}

// firstDifference names the first decision that differs from the recorded ones, and what the run
// was doing.
func firstDifference(out io.Writer, folder, again string, build scenario.Build) error {
	for _, difference := range build.Differences(scenario.CurrentBuild()) {
		say(out, "built from: %s", difference)
	}
	return diffDecisions(out, folder, again)
}

// differs reports a replay that is another run. One of a reduced run may show the failure
// nevertheless, and is then as good as the recorded one.
func differs(out io.Writer, spec scenario.Spec, verdict scenario.Verdict) error {
	switch {
	case spec.Reduced == nil:
		return exit(exitInconclusive)
	case shrink.Breaks(verdict, spec.Reduced.Guarantee):
		fmt.Fprintf(out, "  %s is broken in it, too\n", spec.Reduced.Guarantee)
		return exit(exitFailed)
	default:
		fmt.Fprintf(out, "  %s is not broken in it\n", spec.Reduced.Guarantee)
		return exit(exitInconclusive)
	}
}
