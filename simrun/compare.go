package simrun

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/watchsim/watchsim/linearizability"
)

// compareCommand runs the same seeds with different code.
func compareCommand() *cobra.Command {
	var flags runFlags
	var variants []string
	command := &cobra.Command{
		Use:   "compare --use A --use B --seeds 1-100",
		Short: "run the same seeds with different versions or folders of modules, and show where their verdicts differ",
		Long: "compare builds a binary for each --use and runs all seeds with each. A comma joins several modules of one\n" +
			"variant, and `" + asItIs + "` is the code that go.mod requires.\n\n" +
			"In other code, a seed has another schedule: one seed says little, a hundred say more.\n" +
			"What cannot be built is skipped. It exits with 0 if all verdicts are the same, with 1 if one differs, and with 2 if a\n" +
			"variant was left out and the verdicts of the others are the same.",
		Example: "  simrun compare --use none --use go.etcd.io/etcd/server/v3=v3.7.3 --seeds 1-100 --target kubernetes",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if len(variants) < 2 {
				return fmt.Errorf("--use: expected 2 variants or more, found %d; `--use %s` is the code that go.mod requires", len(variants), asItIs)
			}
			return flags.compare(command, variants)
		},
	}
	flags.register(command)
	// Each text is a variant: the --use of other commands splits it at commas.
	whole := pflag.NewFlagSet("", pflag.ContinueOnError)
	whole.StringArrayVar(&variants, "use", nil, "")
	command.Flags().Lookup("use").Value = whole.Lookup("use").Value
	return command
}

func (f *runFlags) compare(command *cobra.Command, texts []string) error {
	if err := f.prepareOut(); err != nil {
		return err
	}
	notes := command.ErrOrStderr()
	var all []variant
	var unbuilt error
	for _, text := range texts {
		var uses []string
		if text != "" && text != asItIs {
			uses = strings.Split(text, ",")
		}
		one, err := f.buildVariant(notes, uses)
		if err != nil {
			err = fmt.Errorf("%s is left out: %w", one.name, err)
			fmt.Fprintf(notes, "simrun: %v\n", err)
			unbuilt = errors.Join(unbuilt, err)
			continue
		}
		all = append(all, one)
	}
	if len(all) < 2 {
		return fmt.Errorf("expected 2 variants or more that can be built, found %d:\n%w", len(all), unbuilt)
	}
	for _, one := range all {
		if err := f.runBuilt(command, one); err != nil {
			return err
		}
		fmt.Fprintf(notes, "%s: %d seeds run\n", one.name, len(one.verdicts))
	}
	out := f.people(command)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "use\tpassed\tfailed\tinconclusive\tguarantees broken (seeds)")
	for _, v := range all {
		broken := v.broken()
		var words []string
		for _, guarantee := range slices.Sorted(maps.Keys(broken)) {
			words = append(words, fmt.Sprintf("%s (%d)", guarantee, len(broken[guarantee])))
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%s\n", v.name, v.count(linearizability.Passed), v.count(linearizability.Failed),
			v.count(linearizability.Inconclusive), strings.Join(words, ", "))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	differ := differing(all)
	if len(differ) == 0 {
		fmt.Fprintln(out, "no seed has another verdict in one than in another")
		return unbuilt
	}
	fmt.Fprintf(out, "%d seeds have different verdicts, the first of them %s\n", len(differ), seedList(differ))
	for _, seed := range differ[:min(len(differ), maxSeedsShown)] {
		var words []string
		for _, v := range all {
			words = append(words, v.name+" "+v.verdictOf(seed))
		}
		fmt.Fprintf(out, "  seed %d: %s\n", seed, strings.Join(words, "; "))
	}
	return exit(exitFailed)
}

// verdictOf returns the outcome of a seed, and what it broke.
func (v variant) verdictOf(seed uint64) string {
	verdict, ran := v.verdicts[seed]
	if !ran {
		return "did not run"
	}
	words := slices.Sorted(slices.Values(verdict.Broken()))
	return strings.TrimSpace(string(verdict.Outcome) + " " + strings.Join(words, ", "))
}

// differing returns the seeds whose verdicts are not the same in all variants, in ascending order.
func differing(all []variant) (seeds []uint64) {
	ran := map[uint64]bool{}
	for _, v := range all {
		for seed := range v.verdicts {
			ran[seed] = true
		}
	}
	for _, seed := range slices.Sorted(maps.Keys(ran)) {
		if slices.ContainsFunc(all[1:], func(v variant) bool { return v.verdictOf(seed) != all[0].verdictOf(seed) }) {
			seeds = append(seeds, seed)
		}
	}
	return seeds
}
