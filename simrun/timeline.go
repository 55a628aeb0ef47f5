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
		Use:   "timeline HISTORY...",
		Short: "draw a recorded history as one HTML page that works offline",
		Long: "timeline judges a recorded history and draws it: a file, the folder of a run, or - for standard\n" +
			"input. Of several resources of one cluster it draws the histories on one page. The page is one\n" +
			"file that works without a network; docs/timeline.md says how to read it.\n\n" +
			"It exits with 0 once the page is written, whatever the verdict; `simrun check` has that as its exit code.",
		Example: "  simrun timeline out/cacher-minute-7\n  simrun timeline -o page.html history.jsonl\n" +
			"  simrun timeline seed-7-pods.jsonl seed-7-replicasets.apps.jsonl seed-7-nodes.jsonl",
		Args: some("expected histories to draw, found none; try `simrun timeline out/FOLDER`"),
		RunE: func(command *cobra.Command, paths []string) error { return drawTimeline(command, paths, out) },
	}
	command.Flags().StringVarP(&out, "out", "o", "", "`file` to write, or - for standard output (default: "+timeline.File+" beside the history, or in this folder for standard input)")
	return command
}

func drawTimeline(command *cobra.Command, paths []string, out string) error {
	config := scenario.OracleConfig()
	config.Minimum = linearizability.DefaultConfig().Minimum
	var parts []timeline.Part
	streams, violations := 0, 0
	for _, path := range paths {
		recorded, err := judge.Read(path, command.InOrStdin())
		if err != nil {
			return err
		}
		verdict := judge.Check(recorded.History, recorded.Limits(config))
		parts = append(parts, timeline.Part{Name: recorded.Name, Header: recorded.Header, History: recorded.History, Verdict: verdict})
		streams, violations = streams+len(recorded.History.Streams), violations+len(verdict.Violations)
	}
	put := writeFile
	if out == "" {
		put = replaceFile // do not follow a link that came with the folder
		out = timeline.File
		if paths[0] != judge.Stdin {
			out = filepath.Join(filepath.Dir(parts[0].Name), timeline.File)
		}
	}
	one := parts[0]
	drawn, name := timeline.Recorded(one.Name, one.Header, one.History, one.Verdict), one.Name
	var reads []byte
	var err error
	if len(parts) == 1 {
		reads, drawn.Links, err = timeline.Reads(one.History, config, filepath.Base(out))
	} else {
		drawn, err = timeline.Together(parts)
		name = drawn.Title
	}
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := timeline.Write(&page, drawn); err != nil {
		return err
	}
	if out == "-" {
		_, err := page.WriteTo(command.OutOrStdout())
		return err
	}
	save := func(path string, content []byte) error {
		return put(path, func(w io.Writer) error { _, err := w.Write(content); return err })
	}
	if err = save(out, page.Bytes()); err == nil && reads != nil {
		err = save(filepath.Join(filepath.Dir(out), timeline.ReadsFile), reads)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(traces.PrintableWriter(command.OutOrStdout()), "%s  %s\n  %d streams, %d violations, %.1f KiB in %s\n", drawn.Verdict.Outcome, name, streams, violations, float64(page.Len())/1024, out)
	return nil
}
