package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/search/selfbuild"
	"github.com/watchsim/watchsim/search/swarm"
	"github.com/watchsim/watchsim/sim"
)

// The exit codes.
const (
	exitPassed       = 0
	exitFailed       = 1
	exitUsage        = 2
	exitInconclusive = 3
)

// exit is an error that only carries an exit code: all has been said.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// run is the whole command. It returns the exit code.
func run(arguments []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if sim.Available() != nil && needsSimulation(arguments) {
		return runOverlaid(arguments, stderr)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := rootCommand(stdin)
	root.SetArgs(arguments)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var code exit
	switch {
	case err == nil:
		return exitPassed
	case errors.As(err, &code):
		return int(code)
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "simrun: interrupted before there was a verdict")
		return exitInconclusive
	default:
		fmt.Fprintf(stderr, "simrun: %v\n", err)
		return exitUsage
	}
}

// needsSimulation is false for the subcommands that a plain build can do.
func needsSimulation(arguments []string) bool {
	for _, argument := range arguments {
		switch argument {
		case "check", "timeline", "import", "merge", "record", "scenarios", "kinds", "mutants", "help", "completion", "-h", "--help":
			return false
		case "explain":
			return explainsRuns(arguments)
		}
	}
	return true
}

// runOverlaid builds this command with the toolchain overlay and becomes it.
func runOverlaid(arguments []string, stderr io.Writer) int {
	fmt.Fprintln(stderr, "simrun: built without the toolchain overlay; building it with the overlay now (a few minutes the first time)")
	binary, err := selfbuild.Build()
	if err == nil {
		err = syscall.Exec(binary, append([]string{binary}, arguments...), os.Environ())
	}
	fmt.Fprintf(stderr, "simrun: %v\n", err)
	return exitUsage
}

func rootCommand(stdin io.Reader) *cobra.Command {
	var flags runFlags
	root := &cobra.Command{
		Use:   "simrun",
		Short: "Run a Kubernetes watch cache in a deterministic simulation and judge what it did",
		Long: "simrun runs a watch cache over real etcd in a deterministic simulation: one seed in, the same\n" +
			"run out, faults included. The recorded history is judged by an oracle.\n\n" +
			"Exit codes: 0 passed, 1 a guarantee was broken, 2 bad usage, 3 inconclusive.",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(command *cobra.Command, _ []string) error { return flags.run(command) },
	}
	flags.register(root)
	root.AddCommand(campaignCommand(), mergeCommand(), replayCommand(), shrinkCommand(), exploreCommand(), explainCommand(), diffCommand(), hereCommand(), checkCommand(), timelineCommand(), importCommand(), recordCommand(), verifyCommand(), scenariosCommand(), kindsCommand(), mutantsCommand(), &cobra.Command{
		Use:    swarm.WorkerArgument,
		Short:  "work off runs for another simrun",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return swarm.Work(stdin, command.OutOrStdout(), findTarget)
		},
	})
	return root
}
