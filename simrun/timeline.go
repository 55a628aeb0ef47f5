package simrun

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/traces"
	"github.com/watchsim/watchsim/traces/judge"
	"github.com/watchsim/watchsim/traces/timeline"
)

// timelineCommand draws a recorded history.
func timelineCommand() *cobra.Command {
	var out string
	command := &cobra.Command{
		Use:   "timeline HISTORY",
		Short: "draw a recorded history as one HTML page that needs no network",
		Long: "timeline judges a recorded history and draws it: a file, the folder of a run, or - for standard\n" +
			"input. The page is one file that works without a network; docs/timeline.md says how to read it.\n\n" +
			"It exits with 0 once the page is written, whatever the verdict; `simrun check` has that as its exit code.",
		Example: "  simrun timeline out/cacher-minute-7\n  simrun timeline -o page.html history.jsonl",
		Args:    expecting(1, "one history to draw", "; try `simrun timeline out/FOLDER`"),
		RunE: func(command *cobra.Command, arguments []string) error {
			return drawTimeline(command, arguments[0], out)
		},
	}
	command.Flags().StringVarP(&out, "out", "o", "", "`file` to write, or - for standard output (default: "+timeline.File+" beside the history, or here for standard input)")
	return command
}

func drawTimeline(command *cobra.Command, path, out string) error {
	recorded, err := judge.Read(path, command.InOrStdin())
	if err != nil {
		return err
	}
	put := writeFile
	if out == "" {
		put = replaceFile // a link that the folder came with is not followed
		out = timeline.File
		if path != judge.Stdin {
			out = filepath.Join(filepath.Dir(recorded.Name), timeline.File)
		}
	}
	config := scenario.OracleConfig()
	config.Minimum = linearizability.DefaultConfig().Minimum
	verdict := judge.Check(recorded.History, recorded.Limits(config))
	reads, links, err := timeline.Reads(recorded.History, config, filepath.Base(out))
	if err != nil {
		return err
	}
	drawn := timeline.Recorded(recorded.Name, recorded.Header, recorded.History, verdict)
	drawn.Links = links
	var page bytes.Buffer
	if err := timeline.Write(&page, drawn); err != nil {
		return err
	}
	if out == "-" {
		_, err := page.WriteTo(command.OutOrStdout())
		return err
	}
	size := page.Len()
	if err := put(out, func(w io.Writer) error { _, err := page.WriteTo(w); return err }); err != nil {
		return err
	}
	if reads != nil {
		err := put(filepath.Join(filepath.Dir(out), timeline.ReadsFile), func(w io.Writer) error { _, err := w.Write(reads); return err })
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(traces.PrintableWriter(command.OutOrStdout()), "%s  %s\n  %d streams, %d violations, %.1f KiB in %s\n", verdict.Outcome, recorded.Name,
		len(recorded.History.Streams), len(verdict.Violations), float64(size)/1024, out)
	return nil
}
