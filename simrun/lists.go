package simrun

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/overlay"
)

func scenariosCommand() *cobra.Command {
	return listCommand("scenarios", "list the scenarios and targets", func(out io.Writer) error {
		list := append(scenarioNames(), named{})
		for _, target := range testedTargets {
			for _, one := range target.Scenarios {
				list = append(list, named{"--target " + target.Name + " --scenario " + one.Name, one.Summary})
			}
			list = append(list, named{})
		}
		for _, target := range allTargetNames() {
			list = append(list, named{"--target " + target.name, target.summary})
		}
		return printList(out, list)
	})
}

func knobsCommand() *cobra.Command {
	command := listCommand("knobs", "list the knobs that scenario any draws from the seed, and that --set sets", func(out io.Writer) error {
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "KNOB\tUSUAL\tMEANING\tOTHER VALUES")
		for _, knob := range scenario.Knobs() {
			others := slices.Compact(slices.Clone(knob.Others))
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", knob.Name, cmp.Or(knob.Usual, scenario.UsualValue), knob.Summary, strings.Join(others, " "))
		}
		return table.Flush()
	})
	command.Example = "  simrun knobs\n  simrun --scenario any --seed 3 --set members=3 --set mix=churn"
	return command
}

func mutantsCommand() *cobra.Command {
	return listCommand("mutants", "list the known bugs that can be put into the code under test", func(out io.Writer) error {
		return printList(out, mutantNames())
	})
}

func listCommand(name, summary string, list func(io.Writer) error) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: summary, Args: cobra.NoArgs, Example: "  simrun " + name,
		RunE: func(command *cobra.Command, _ []string) error { return list(command.OutOrStdout()) },
	}
}

func printList(out io.Writer, list []named) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, n := range list {
		fmt.Fprintf(table, "%s\t%s\n", n.name, n.summary)
	}
	return table.Flush()
}

// kindsCommand lists the elements of the lines of a plan.
func kindsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kinds [KIND...]",
		Short: "list the kinds of fault with their parameters, and the points that they can wait for",
		Long: "kinds lists what a plan is made of. A plan has one fault a line. A fault begins at a time, or when a\n" +
			"process gets to a point for the N-th time within a span of time; all its parameters are required:\n\n" +
			"  " + strings.ReplaceAll(strings.TrimSpace(examplePlan), "\n", "\n  "),
		Example:           "  simrun kinds\n  simrun kinds compaction partition\n  simrun --seed 7 --faults plan.txt",
		ValidArgsFunction: completing(kindNames),
		RunE: func(command *cobra.Command, arguments []string) error {
			out := command.OutOrStdout()
			if len(arguments) == 0 {
				fmt.Fprintf(out, "%s\n", command.Long)
				for _, kind := range faults.Kinds() {
					printKind(out, kind)
				}
				fmt.Fprint(out, "\nPoints, as in `between 35s and 40s on POINT N of PROCESS KIND ...`:\n\n")
				for _, point := range faults.Points() {
					fmt.Fprintf(out, "%s\n%s\n", point.Name, explain.Wrap(4, point.Doc))
				}
				return nil
			}
			for _, name := range arguments {
				kind, known := faults.Lookup(name)
				if !known {
					return checkName("kind", name, kindNames())
				}
				printKind(out, kind)
			}
			return nil
		},
	}
}

// examplePlan is valid in every scenario.
const examplePlan = `
# watchsim plan v1
at 12.5s etcd-crash member=etcd-0 down=2s
at 20s partition from=apiserver-0 to=etcd-0 for=4s
between 35s and 40s on list 1 of apiserver-0 compaction revision=deletion
`

func printKind(out io.Writer, kind faults.Kind) {
	fmt.Fprintf(out, "\n%s", kind.Name)
	for _, parameter := range kind.Parameters {
		fmt.Fprintf(out, " %s=...", parameter.Name)
	}
	fmt.Fprintf(out, "\n%s\n", explain.Wrap(4, kind.Doc))
	for _, parameter := range kind.Parameters {
		fmt.Fprintf(out, "    %-10s %s\n", parameter.Name, parameter.Expects)
	}
}

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

// versionCommand prints what this binary was built from, on which a run depends besides its seed
// and options.
func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "print the versions of simrun, Go, Kubernetes and etcd, and the overlay's hash",
		Example: "  simrun version",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			build := scenario.CurrentBuild()
			version := "(devel)"
			if info, ok := debug.ReadBuildInfo(); ok {
				version = cmp.Or(info.Main.Version, version)
			}
			commit := cmp.Or(build.Revision, "unknown")
			if build.Modified {
				commit += ", with changes"
			}
			edits := overlay.Hash()
			if sim.Available() != nil {
				edits += ", not in this binary: it builds another one with it when it has to simulate"
			}
			return printList(command.OutOrStdout(), []named{
				{"simrun", version}, {"commit", commit}, {"go", build.Go},
				{"kubernetes", "k8s.io/apiserver " + build.Modules["k8s.io/apiserver"]},
				{"etcd", "go.etcd.io/etcd/server/v3 " + build.Modules["go.etcd.io/etcd/server/v3"]},
				{"overlay", edits},
			})
		},
	}
}
