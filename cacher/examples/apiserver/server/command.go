package server

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
)

// Main runs the command with its arguments and returns its exit code.
func Main(args []string, stdout, stderr io.Writer) int {
	command := newCommand()
	command.SetArgs(args)
	command.SetOut(stdout)
	command.SetErr(stderr)
	if err := cli.RunNoErrOutput(command); err != nil {
		fmt.Fprintln(stderr, "apiserver:", err)
		return 1
	}
	return 0
}

func newCommand() *cobra.Command {
	options := NewOptions()
	command := &cobra.Command{
		Use:   "apiserver",
		Short: "An API server that serves widgets through the watch cache of watchsim",
		Long: `An API server that serves widgets of example.watchsim.dev/v1 through the watch
cache of watchsim, of Kubernetes, or without one. It is built as aggregated API
servers are, and shows what it takes to change the cache: one line.

To try it on one machine, with etcd in the process and without a kube-apiserver:

  apiserver --standalone`,
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGTERM, syscall.SIGINT)
			context.AfterFunc(ctx, stop) // a second signal ends the process at once
			options.Out = command.OutOrStdout()
			return Run(ctx, options)
		},
	}
	options.AddFlags(command.Flags())
	return command
}
