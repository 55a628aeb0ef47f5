package simrun

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/traces"
	"github.com/watchsim/watchsim/traces/judge"
)

// checkCommand judges recorded histories.
func checkCommand() *cobra.Command {
	var asJSON, schema bool
	staleAfter := time.Duration(-1)
	config := scenario.OracleConfig()
	config.Minimum = linearizability.DefaultConfig().Minimum
	command := &cobra.Command{
		Use:   "check HISTORY...",
		Short: "judge recorded histories, whoever recorded them",
		Long: "check judges recorded histories: files of JSON Lines, also compressed with gzip, the folders of\n" +
			"runs, or - for standard input. Where they come from does not matter; --schema prints the format\n" +
			"of a line, and docs/history-format.md describes the rest.\n\n" +
			"All files are judged, and the exit code is the first of these that is true: 2 a file could not\n" +
			"be read or is invalid, 1 one broke a guarantee, 3 one is inconclusive, 0 all passed.",
		Example: "  simrun check out/cacher-minute-7\n  simrun check --json audit.jsonl.zst history.jsonl",
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) == 0 && !schema {
				return fmt.Errorf("expected histories to check, found none; try `simrun check out/FOLDER` or `simrun check --schema`")
			}
			return nil
		},
		RunE: func(command *cobra.Command, paths []string) error {
			if schema {
				_, err := io.WriteString(command.OutOrStdout(), traces.Schema)
				return err
			}
			return check(command, paths, config, staleAfter, asJSON)
		},
	}
	flags := command.Flags()
	flags.BoolVar(&asJSON, "json", false, "print one JSON object a file on standard output")
	flags.BoolVar(&schema, "schema", false, "print the JSON Schema of a line of a history, and check nothing")
	flags.DurationVar(&config.DeliveryBound, "delivery-bound", config.DeliveryBound, "recorded time after healing within which everything must have arrived")
	flags.DurationVar(&config.SearchTimeout, "search-timeout", config.SearchTimeout, "real time that a search may take before it is inconclusive, 0 for any")
	flags.IntVar(&config.Window, "window", config.Window, "number of changes that a cache holds at least, 0 if that is not known")
	flags.IntVar(&config.ViolationsPerSource, "violations", config.ViolationsPerSource, "most violations of a guarantee shown for each stream or client, 0 for all")
	flags.DurationVar(&staleAfter, "stale-after", staleAfter, "fail if a server shows nothing but stale states for longer than this (default: never)")
	flags.Lookup("stale-after").DefValue = "0s"
	return command
}

func check(command *cobra.Command, paths []string, config linearizability.Config, staleAfter time.Duration, asJSON bool) error {
	worst := judge.Passed
	out, errs := traces.PrintableWriter(command.OutOrStdout()), traces.PrintableWriter(command.ErrOrStderr())
	for i, path := range paths {
		verdict := judge.File(path, command.InOrStdin(), config)
		if staleAfter >= 0 {
			verdict.Demand(staleAfter)
		}
		worst = max(worst, verdict.Severity())
		switch {
		case asJSON:
			if err := json.NewEncoder(out).Encode(verdict); err != nil {
				return err
			}
		case verdict.Error == "":
			if i > 0 {
				fmt.Fprintln(out)
			}
			fmt.Fprint(out, verdict.Report())
		}
		if verdict.Error != "" {
			fmt.Fprintf(errs, "simrun: %s\n", verdict.Error)
		}
	}
	return seedsExit(worst == judge.Failed, worst == judge.Unreadable, worst == judge.Inconclusive)
}
