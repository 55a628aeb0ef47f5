package main

import (
	"fmt"
	"slices"
	"text/tabwriter"

	"maps"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/cluster/released"
	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/search/mutant"
)

func scenariosCommand() *cobra.Command {
	return listCommand("scenarios", "list the scenarios and targets", func(row func(name, text string)) {
		for _, entry := range scenario.Catalogue() {
			row(entry.Name, entry.Summary)
		}
		row("", "")
		for _, t := range targets {
			row("--target "+t.name, t.summary)
		}
		for _, r := range released.All() {
			row("--target "+r.Name, r.Summary+" (built on first use)")
		}
	})
}

func kindsCommand() *cobra.Command {
	return listCommand("kinds", "list the kinds of fault, and the points they can wait for", func(row func(name, text string)) {
		for _, kind := range faults.Kinds() {
			row(kind.Name, kind.Doc)
		}
		row("", "")
		for _, point := range faults.Points() {
			row("on "+point.Name, point.Doc)
		}
	})
}

func mutantsCommand() *cobra.Command {
	return listCommand("mutants", "list the known bugs that can be put into the code under test", func(row func(name, text string)) {
		for _, m := range append(mutant.All(), mutant.Released()...) {
			row(m.Name, m.Summary)
		}
	})
}

func listCommand(name, summary string, list func(row func(name, text string))) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: summary, Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			table := tabwriter.NewWriter(command.OutOrStdout(), 0, 0, 2, ' ', 0)
			list(func(name, text string) { fmt.Fprintf(table, "%s\t%s\n", name, text) })
			return table.Flush()
		},
	}
}

func sortedKeys(counts map[string]int) []string { return slices.Sorted(maps.Keys(counts)) }
