package simrun

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/search/campaign"
)

// mergeCommand merges the results of shards.
func mergeCommand() *cobra.Command {
	var asJSON bool
	var write string
	command := &cobra.Command{
		Use:   "merge RESULTS...",
		Short: "merge the results of a campaign's shards",
		Long: "merge reads the results of the shards of one campaign, in files or folders, and prints what is\n" +
			"missing, how many seeds passed, and the failures by signature with the lowest seeds of each and the\n" +
			"command that shows it. It also works while shards are running.\n\n" +
			"It exits with 1 if a seed failed, with 2 if the files do not belong together, and with 3 if results\n" +
			"are missing or inconclusive.",
		Example: "  simrun merge out\n  simrun merge --json -o merged.jsonl out",
		Args:    some("expected the results of shards, found none; try `simrun merge out`"),
		RunE: func(command *cobra.Command, paths []string) error {
			merged, err := campaign.Merge(paths)
			if err != nil {
				return err
			}
			if write != "" {
				if err := writeMerged(write, merged); err != nil {
					return err
				}
			}
			if asJSON {
				encoder := json.NewEncoder(command.OutOrStdout())
				encoder.SetEscapeHTML(false)
				err = encoder.Encode(merged.Summary)
			} else {
				_, err = fmt.Fprintf(command.OutOrStdout(), "watchsim  target %s  scenario %s  seeds %d to %d  build %s\n%s",
					merged.Spec.Target, merged.Spec.Scenario, merged.First, merged.Last, merged.Build, merged.Report())
			}
			if err != nil {
				return err
			}
			return summaryExit(merged.Summary)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on standard output")
	command.Flags().StringVarP(&write, "out", "o", "", "also write all results to this `file`, which may not exist, as those of a campaign of one shard")
	return command
}

// writeMerged never overwrites a file, as it may be one of the inputs.
func writeMerged(path string, merged *campaign.Merged) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if err := errors.Join(merged.WriteResults(file), file.Close()); err != nil {
		return fmt.Errorf("--out %s: %w", path, err)
	}
	return nil
}
