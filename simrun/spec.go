package simrun

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
)

// specCommand prints the spec of the runs that flags describe. Hunts for mutants call it, so that
// they accept the same flags as simrun.
func specCommand() *cobra.Command {
	var flags runFlags
	command := &cobra.Command{
		Use: "spec", Short: "print the spec of a run as JSON, without a seed", Hidden: true, Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			for _, name := range []string{"seed", "seeds", "mutant", "out", "workers", "keep-all", "json", "no-fork", "verbose"} {
				if command.Flags().Changed(name) {
					return fmt.Errorf("expected flags that say what a run is, found --%s", name)
				}
			}
			spec, err := flags.spec()
			if err == nil {
				err = flags.ofPlan(spec.WithSeed(0).Validate())
			}
			if err != nil {
				return err
			}
			return json.NewEncoder(command.OutOrStdout()).Encode(spec)
		},
	}
	flags.register(command)
	return command
}
