package simrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/search/selfbuild"
	"github.com/watchsim/watchsim/search/swarm"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/traces"
)

// The exit codes.
const (
	exitPassed       = 0
	exitFailed       = 1
	exitUsage        = 2
	exitInconclusive = 3
)

// exit is an error that only carries an exit code: everything has been printed.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// run runs the whole command and returns its exit code.
func run(arguments []string, stdin io.Reader, stdout, stderr io.Writer) int {
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
		fmt.Fprintf(traces.PrintableWriter(stderr), "simrun: %v\n", err)
		return exitUsage
	}
}

// prepare runs before every command. In a binary that was built without the overlay, it hands a
// command that simulates to a binary built with it.
func prepare(command *cobra.Command, arguments []string) error {
	if command.Hidden {
		return nil
	}
	sweep()
	simulates := command.Annotations[simulating] != "" || command.Name() == "explain" && slices.ContainsFunc(arguments, scenario.HasRun)
	if !simulates || sim.Available() == nil {
		return nil
	}
	binary, err := built(command.ErrOrStderr(), "simrun with the toolchain overlay", func(progress selfbuild.Progress) (string, error) {
		return selfbuild.Build(progress, nil)
	})
	if err != nil {
		return err
	}
	return syscall.Exec(binary, append([]string{binary}, os.Args[1:]...), os.Environ())
}

// simulating is the annotation of commands that need the overlay.
const simulating = "simulating"

func rootCommand(stdin io.Reader) *cobra.Command {
	var flags runFlags
	root := &cobra.Command{
		Use:   "simrun",
		Short: "Run a Kubernetes watch cache in a deterministic simulation and check what it did",
		Long: "simrun runs a watch cache over real etcd in a deterministic simulation: one seed in, the same\n" +
			"run out, faults included. An oracle checks the recorded history.\n\n" +
			"Exit codes: 0 passed, 1 a guarantee was broken, 2 bad usage, 3 inconclusive.",
		Example: "  simrun --seed 7\n" +
			"  simrun --seeds 1-2000 --scenario storm --target kubernetes\n" +
			"  simrun --seed 10 --mutant canary -v",
		Args:              noSuchCommand,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: prepare,
		RunE:              func(command *cobra.Command, _ []string) error { return flags.run(command) },
	}
	flags.register(root)
	root.SetFlagErrorFunc(wrongFlag)
	simulate := []*cobra.Command{campaignCommand(), compareCommand(), bisectCommand(), replayCommand(), shrinkCommand(), exploreCommand(), verifyCommand()}
	for _, command := range append(simulate, root) {
		command.Annotations = map[string]string{simulating: "yes"}
	}
	root.AddCommand(simulate...)
	root.AddCommand(mergeCommand(), explainCommand(), diffCommand(), checkCommand(), timelineCommand(), importCommand(), recordCommand(),
		scenariosCommand(), knobsCommand(), kindsCommand(), mutantsCommand(), versionCommand(), hereCommand(), specCommand(), &cobra.Command{
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

// wrongFlag adds the nearest known flag to an error about an unknown one, and says what a flag takes
// if its value is none.
func wrongFlag(command *cobra.Command, err error) error {
	if invalid, is := errors.AsType[*pflag.InvalidValueError](err); is {
		return wrongValue(invalid)
	}
	missing, is := errors.AsType[*pflag.NotExistError](err)
	if !is {
		return err
	}
	var names []string
	command.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	if near := nearest(missing.GetSpecifiedName(), names); near != "" {
		return fmt.Errorf("%w: did you mean --%s?", err, near)
	}
	return err
}

// wrongValue says which values the flag takes.
func wrongValue(invalid *pflag.InvalidValueError) error {
	flag := invalid.GetFlag()
	expected := map[string]string{
		"int": "a whole number", "int64": "a whole number", "duration": "a time such as 30s or 1m30s", "durationSlice": "times such as 5ms,300ms",
		"bool": "true or false",
	}[flag.Value.Type()]
	if expected == "" {
		return fmt.Errorf("--%s: %w", flag.Name, invalid.Unwrap())
	}
	return fmt.Errorf("--%s: expected %s, found %q", flag.Name, expected, invalid.GetValue())
}
