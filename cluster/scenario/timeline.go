package scenario

import (
	"bytes"
	"fmt"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/traces/timeline"
)

// WriteTimeline writes the timeline of a failed run into its folder. `simrun timeline`
// draws those of other runs.
func (r *Run) WriteTimeline(folder string, v Verdict) error {
	if v.Outcome != linearizability.Failed {
		return nil
	}
	page := timeline.Page{
		Title: r.Spec.Name(), History: r.History, Verdict: r.found,
		About: [][2]string{
			{"seed", fmt.Sprint(r.Spec.Seed)}, {"target", r.Spec.Target}, {"scenario", r.Spec.Scenario}, {"mutant", r.Spec.Mutant}, {"use", r.Spec.Use}, {"hash", v.Hash},
		},
	}
	reads, links, err := timeline.Reads(r.History, OracleConfig(), timeline.File)
	if err != nil {
		return err
	}
	page.Links = links
	page.Verdict.Outcome, page.Verdict.Reason = v.Outcome, v.Reason
	var content bytes.Buffer
	if err := timeline.Write(&content, page); err != nil {
		return err
	}
	return writeAll(folder, []file{text(timeline.File, content.Bytes()), text(timeline.ReadsFile, reads)})
}
