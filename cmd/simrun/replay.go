package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/sim/scenario"
	"github.com/watchsim/watchsim/sim/shrink"
	"github.com/watchsim/watchsim/sim/swarm"
)

// replayCommand runs a recorded tape again.
func replayCommand() *cobra.Command {
	var asJSON, withTrace bool
	command := &cobra.Command{
		Use:   "replay FOLDER",
		Short: "run a recorded tape again and say whether the hash agrees",
		Long: "replay runs a recorded tape again, writes the artefacts into a folder below, and says whether the hash\n" +
			"agrees. With --trace it also writes trace.txt there: every goroutine switch, synchronisation point,\n" +
			"decision and random number, with simulated times and callers, a line each.",
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return fmt.Errorf("expected the folder of one run, found %d arguments", len(arguments))
			}
			return nil
		},
		RunE: func(command *cobra.Command, arguments []string) error {
			return replay(command, arguments[0], asJSON, withTrace)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print the verdict as one JSON object on standard output")
	command.Flags().BoolVar(&withTrace, "trace", false, "write down everything that happens; a hundred megabytes are usual")
	return command
}

func replay(command *cobra.Command, folder string, asJSON, withTrace bool) error {
	recorded, err := scenario.Load(folder)
	if err != nil {
		return err
	}
	if _, err := findTarget(recorded.Spec.Target); err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	binary, err := binaryWith(recorded.Spec.Mutant)
	if err != nil {
		return err
	}
	again, err := filepath.Abs(filepath.Join(folder, "replay"))
	if err != nil {
		return err
	}
	job := swarm.Job{Spec: recorded.Spec, Tape: recorded.Tape, Folder: again}
	if withTrace {
		job.Trace = filepath.Join(again, "trace.gz")
	}
	answer, err := swarm.Once(command.Context(), binary, job, swarm.DefaultLimits())
	if err == nil && answer.Error != "" {
		err = errors.New(answer.Error)
	}
	if err != nil {
		return err
	}
	if withTrace {
		if err := swarm.PrintTrace(job.Trace, filepath.Join(again, "trace.txt")); err != nil {
			return err
		}
	}
	out := command.OutOrStdout()
	if asJSON {
		if err := json.NewEncoder(out).Encode(answer.Verdict); err != nil {
			return err
		}
		out = command.ErrOrStderr()
	}
	fmt.Fprintf(out, "%s\n\n", strings.TrimRight(answer.Report, "\n"))
	if answer.Diverged {
		fmt.Fprintln(out, "  the replay differs: the tape has a choice that the run does not have, or ends before it; "+
			"the code or the toolchain is not the one that recorded it")
		return differs(out, recorded.Spec, answer.Verdict)
	}
	if answer.Verdict.Hash != recorded.Hash {
		fmt.Fprintf(out, "  the replay differs: expected the hash %s, found %s; the code or the toolchain is not the one that recorded it\n",
			recorded.Hash, answer.Verdict.Hash)
		return differs(out, recorded.Spec, answer.Verdict)
	}
	fmt.Fprintf(out, "  the hash agrees: %s\n  artefacts in %s\n", recorded.Hash, again)
	switch answer.Verdict.Outcome {
	case linearizability.Passed:
		return nil
	case linearizability.Failed:
		return exit(exitFailed)
	default:
		return exit(exitInconclusive)
	}
}

// differs is the end of a replay that is another run. One of a reduced run may
// show the failure all the same, and is then as good as the one that was recorded.
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
