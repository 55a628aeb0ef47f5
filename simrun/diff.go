package simrun

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/traces"
	"github.com/watchsim/watchsim/traces/judge"
)

// diffCommand finds where two runs or histories diverge.
func diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff A B",
		Short: "show where two runs or histories diverge, side by side",
		Long: "diff compares two folders of runs, or two recorded histories, and shows side by side the end of what\n" +
			"they share and how each continues. Of folders it compares what the runs are a function of, the decisions\n" +
			"of the scheduler, and the histories; of histories, what clients did and saw, and the faults.\n\n" +
			"Exit codes: 0 they are the same, 1 they differ, 2 bad usage or input.",
		Example: "  simrun diff out/cacher-minute-7 out/cacher-minute-7/replay",
		Args:    expecting(2, "two folders of runs or two histories"),
		RunE: func(command *cobra.Command, arguments []string) error {
			return diff(traces.PrintableWriter(command.OutOrStdout()), arguments[0], arguments[1])
		},
	}
}

// diff compares what is at two paths.
func diff(out io.Writer, a, b string) error {
	same := true
	if scenario.HasRun(a) && scenario.HasRun(b) {
		var err error
		if same, err = diffRuns(out, a, b); err != nil {
			return err
		}
	}
	sameHistories, err := diffHistories(out, a, b)
	if err != nil {
		return err
	}
	if !same || !sameHistories {
		return exit(exitFailed)
	}
	return nil
}

// diffRuns compares what two runs are a function of, and their decisions.
func diffRuns(out io.Writer, a, b string) (same bool, err error) {
	one, err := scenario.Load(a)
	if err != nil {
		return false, err
	}
	two, err := scenario.Load(b)
	if err != nil {
		return false, err
	}
	var different []string
	if spec := specDifferences(one.Spec, two.Spec); len(spec) > 0 {
		different = append(different, "they are runs of different specs: "+strings.Join(spec, ", "))
	}
	if one.Spec.Plan != two.Spec.Plan {
		different = append(different, "they have different plans, "+filepath.Join(a, "plan.txt")+" and "+filepath.Join(b, "plan.txt"))
	}
	for _, difference := range one.Build.Differences(two.Build) {
		different = append(different, "built from: "+strings.NewReplacer(" then,", " and", " now", "").Replace(difference))
	}
	for _, text := range different {
		say(out, "%s", text)
	}
	if one.Hash == two.Hash {
		say(out, "the runs have the same hash, %s", one.Hash)
		return len(different) == 0, nil
	}
	say(out, "the hashes are %s and %s", one.Hash, two.Hash)
	return false, diffDecisions(out, a, b)
}

// specDifferences names the fields in which two specs differ.
func specDifferences(a, b scenario.Spec) []string {
	fields := func(s scenario.Spec) map[string]json.RawMessage {
		s.Plan = ""
		var m map[string]json.RawMessage
		text, _ := json.Marshal(s)
		_ = json.Unmarshal(text, &m) // it was marshalled
		return m
	}
	one, two := fields(a), fields(b)
	all := maps.Clone(one)
	maps.Copy(all, two)
	var different []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if x, y := string(one[name]), string(two[name]); x != y {
			different = append(different, fmt.Sprintf("%s (%s and %s)", name, shortened(x), shortened(y)))
		}
	}
	return different
}

// shortened shortens a value for a sentence.
func shortened(value string) string {
	const most = 40
	switch {
	case value == "":
		return "not given"
	case len(value) > most:
		return value[:most] + "..."
	}
	return value
}

// How much is shown around a difference.
const (
	shownBefore = 4
	shownAfter  = 8
)

// diffDecisions shows where the decisions of two runs diverge.
func diffDecisions(out io.Writer, a, b string) error {
	one, errA := scenario.Decisions(a)
	two, errB := scenario.Decisions(b)
	if errors.Is(errA, fs.ErrNotExist) || errors.Is(errB, fs.ErrNotExist) {
		say(out, "a folder lacks decisions.txt, so that their first divergence is not known")
		return nil
	}
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	at, differ := sim.Divergence(one, two)
	if !differ {
		say(out, "the first %d decisions are the same, which is all that the folders have", len(one))
		return nil
	}
	say(out, "the first divergence is after %d decisions that are the same", at)
	fmt.Fprintf(out, "\n%s\n", beside(a, b, linesAround(one, at, sim.Decision.String), linesAround(two, at, sim.Decision.String)))
	return nil
}

// linesAround returns the lines around the first difference, which is marked.
func linesAround[T any](list []T, at int, line func(T) string) (lines []string) {
	for i := max(0, at-shownBefore); i < min(len(list), at+shownAfter); i++ {
		mark := ""
		if i == at {
			mark = ">> "
		}
		lines = append(lines, mark+line(list[i]))
	}
	return lines
}

// beside lays out two lists side by side, below the ends of two paths.
func beside(a, b string, left, right []string) string {
	nameA, nameB := filepath.Base(a), filepath.Base(b)
	if nameA == nameB {
		nameA, nameB = "A: "+a, "B: "+b
	}
	return explain.Beside(nameA, nameB, left, right)
}

// diffHistories shows where two histories diverge.
func diffHistories(out io.Writer, a, b string) (same bool, err error) {
	one, err := momentsOf(a)
	if err != nil {
		return false, err
	}
	two, err := momentsOf(b)
	if err != nil {
		return false, err
	}
	at := 0
	for at < len(one) && at < len(two) && one[at] == two[at] {
		at++
	}
	if at == len(one) && at == len(two) {
		say(out, "the histories are the same, all %d moments of them", at)
		return true, nil
	}
	say(out, "the first divergence is after %d moments that are the same, of %d and %d", at, len(one), len(two))
	fmt.Fprintf(out, "\n%s", beside(a, b, linesAround(one, at, explain.Line), linesAround(two, at, explain.Line)))
	return false, nil
}

// momentsOf reads the moments of a history file, or of a run's folder.
func momentsOf(path string) ([]explain.Moment, error) {
	history, err := historyAt(path)
	if err != nil {
		return nil, err
	}
	return explain.New(history).Moments(), nil
}

// historyAt reads the history at a path or in that folder.
func historyAt(path string) (*model.History, error) {
	recorded, err := judge.Read(path, strings.NewReader(""))
	return recorded.History, err
}
