package simrun

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces"
	"github.com/watchsim/watchsim/traces/importer"
)

// importCommand makes a history from the files of a real cluster.
func importCommand() *cobra.Command {
	options := importer.Options{}
	out := ""
	command := &cobra.Command{
		Use:   "import KIND [SERVER=]FILE... [KIND [SERVER=]FILE...]...",
		Short: "make a history of audit logs and of the output of kubectl and etcdctl",
		Long: "import makes one history of files from a real cluster, for `simrun check` to judge. Each KIND is that of\n" +
			"the files after it:\n\n" +
			"  audit     audit logs of API servers, one a file\n" +
			"  kubectl   kubectl get RESOURCE --watch --output-watch-events -o json\n" +
			"  etcdctl   etcdctl get --prefix KEY -w json, and etcdctl watch --prefix --rev N KEY -w json\n" +
			"  history   histories that `simrun record` or this command has written\n\n" +
			"Files may be compressed with gzip, and histories with zstd. What cannot be judged is left out, and named on standard error.\n" +
			"docs/real-clusters.md says how to get these files, and what each of them can show.",
		Example: "  simrun import audit a=audit-a.log b=audit-b.log --resource pods -o history.jsonl\n" +
			"  simrun import audit a=audit.log etcdctl state.json changes.json --etcd-rev 4711 --resource pods | simrun check -",
		RunE: func(command *cobra.Command, arguments []string) error {
			files, err := importer.Files(arguments)
			if err != nil {
				return err
			}
			header, h, notes, err := importer.Import(files, options)
			if err != nil {
				return err
			}
			return writeHistory(command, out, header, h, notes)
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.Resource, "resource", "", "the resource that the history is about, such as pods or deployments.apps")
	flags.DurationVar(&options.ClockSkew, "clock-skew", -1, fmt.Sprintf("by how much the clocks of the sources may differ (default: %v if there are several, else 0)", importer.DefaultSkew))
	flags.Lookup("clock-skew").DefValue = "0s"
	flags.Int64Var(&options.EtcdFrom, "etcd-rev", 0, "the --rev that etcdctl watch was given, 0 for none")
	flags.BoolVar(&options.AllLabels, "labels", false, "keep all labels, not only those that requests select by")
	flags.StringVarP(&out, "out", "o", "-", "file to write, or - for standard output")
	return command
}

// writeHistory writes a history to a file or to standard output, and says what was left out.
func writeHistory(command *cobra.Command, path string, header traces.Header, h *model.History, notes []string) error {
	for _, note := range notes {
		fmt.Fprintf(traces.PrintableWriter(command.ErrOrStderr()), "left out: %s\n", note)
	}
	write := func(w io.Writer) error { return traces.WriteHistory(w, header, h) }
	if path == "-" {
		return write(command.OutOrStdout())
	}
	return writeFile(path, write)
}

// writeFile replaces a file atomically: it first writes a file beside it. Anything but a regular
// file, such as a pipe, is written to directly.
func writeFile(path string, write func(io.Writer) error) (err error) {
	if isFile(path) {
		return replaceFile(path, write)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return notWritten(path, err)
	}
	return errors.Join(write(file), file.Close())
}

// isFile reports whether a path is a regular file, or does not exist yet.
func isFile(path string) bool {
	about, err := os.Lstat(path)
	return err != nil || about.Mode().IsRegular()
}

func replaceFile(path string, write func(io.Writer) error) error {
	beside, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return notWritten(path, err)
	}
	err = errors.Join(write(beside), beside.Chmod(0o644), beside.Close())
	if err == nil {
		err = os.Rename(beside.Name(), path)
	}
	if err != nil {
		os.Remove(beside.Name())
		return notWritten(path, err)
	}
	return nil
}

// notWritten is the error of a path that cannot be written; it names the path once.
func notWritten(path string, err error) error {
	if of, is := errors.AsType[*fs.PathError](err); is {
		err = of.Err
	}
	return fmt.Errorf("-o: expected a place that can be written to, found that %s cannot: %w", path, err)
}
