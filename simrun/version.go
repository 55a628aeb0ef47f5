package simrun

import (
	"cmp"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/overlay"
)

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
