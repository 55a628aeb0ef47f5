package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/sim/swarm"
)

// verifyCommand checks that seeds are runs.
func verifyCommand() *cobra.Command {
	var flags runFlags
	command := &cobra.Command{
		Use:   "verify --seeds A-B",
		Short: "run seeds in two orders and check that each is one run",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			first, last, err := flags.seedRange()
			if err != nil {
				return err
			}
			spec, err := flags.spec()
			if err != nil {
				return err
			}
			limits, err := flags.limits()
			if err != nil {
				return err
			}
			binary, err := flags.binary()
			if err != nil {
				return err
			}
			err = swarm.Verify(command.Context(), swarm.Config{Binary: binary, Spec: spec, First: first, Last: last, Limits: limits})
			if errors.Is(err, swarm.ErrNotDeterministic) {
				fmt.Fprintln(command.OutOrStdout(), err)
				return exit(exitFailed)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(command.OutOrStdout(), "seeds %d to %d have one hash each, forwards and backwards\n", first, last)
			return nil
		},
	}
	flags.register(command)
	return command
}
