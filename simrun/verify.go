package simrun

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/search/swarm"
)

// verifyCommand checks that each seed is one run.
func verifyCommand() *cobra.Command {
	var flags runFlags
	var processes int
	command := &cobra.Command{
		Use:   "verify --seeds A-B",
		Short: "run seeds in two orders and check that each is one run",
		Long: "verify runs the seeds forwards in one worker and backwards in another, and the first of them in\n" +
			"--processes fresh ones, half of these at once. Every other fresh one runs in place, as with --no-fork,\n" +
			"and the rest in a copy of a world that has booted, whatever --no-fork says of the workers. If a seed was\n" +
			"two different runs, it names the first divergence, and where each was then.",
		Example: "  simrun verify --seeds 1-200 --scenario storm --faults every",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			config, err := flags.config(command.ErrOrStderr())
			if err != nil {
				return err
			}
			if processes < 2 {
				return fmt.Errorf("expected --processes to be at least 2, found %d: one process has nothing to differ from", processes)
			}
			err = swarm.Verify(command.Context(), config)
			if err == nil {
				err = swarm.Repeat(command.Context(), config, config.First, processes)
			}
			if errors.Is(err, swarm.ErrNotDeterministic) {
				fmt.Fprintln(command.OutOrStdout(), err)
				return exit(exitFailed)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(command.OutOrStdout(), "seeds %d to %d have one hash each, forwards and backwards; seed %d has it in %d fresh processes, in place and forked\n",
				config.First, config.Last, config.First, processes)
			return nil
		},
	}
	flags.register(command)
	command.Flags().IntVar(&processes, "processes", 4, "number of fresh processes for the first seed, at least 2")
	return command
}
