package campaign

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/linearizability/explain"
	"github.com/watchsim/watchsim/model"
)

// faultsShown is the largest number of kinds of fault named as common to a group.
const faultsShown = 4

// Report is the summary for people: what is missing, and the failures by signature, each with a
// command that reproduces it.
func (s *Summary) Report() string {
	s.finish()
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d seeds: %d passed, %d failed, %d inconclusive\n", s.Done, s.Seeds, s.Passed, s.Failed, s.Inconclusive)
	fmt.Fprintf(&b, "%d operations, %d watch events, %.0f simulated seconds\n", s.Operations, s.WatchEvents, s.SimulatedSeconds)
	if s.NotDeterministic > 0 {
		fmt.Fprintf(&b, "%d not deterministic: two runs of the seed differed\n", s.NotDeterministic)
	}
	if len(s.MissingShards) > 0 {
		fmt.Fprintln(&b, explain.Wrap(0, "missing shards: "+listed(s.MissingShards)))
	}
	if missing := s.Seeds - s.Done; missing > 0 && len(s.MissingSeeds) > 0 {
		fmt.Fprintf(&b, "missing seeds: %s\n", seedList(s.MissingSeeds, missing))
	}
	if len(s.Groups) > 0 {
		fmt.Fprintf(&b, "\n%s:\n", model.Plural(len(s.Groups), "signature"))
	}
	for _, group := range s.Groups {
		s.reportGroup(&b, group)
	}
	if len(s.Reasons) > 0 {
		b.WriteString("\nInconclusive:\n")
	}
	for _, reason := range s.Reasons {
		fmt.Fprintln(&b, explain.Wrap(2, fmt.Sprintf("%s: %s (%s)", model.Plural(int(reason.Count), "seed"), reason.Text, seedList(reason.Lowest, reason.Count))))
	}
	return b.String()
}

func (s *Summary) reportGroup(b *strings.Builder, group *Group) {
	fmt.Fprintf(b, "\n  %s: %s, %s\n", model.Plural(int(group.Count), "failure"), group.Guarantee, group.Place)
	fmt.Fprintln(b, explain.Wrap(4, group.Shape))
	fmt.Fprintf(b, "    seeds: %s\n", seedList(group.Lowest, group.Count))
	if len(group.Also) > 0 {
		var also []string
		for _, guarantee := range slices.Sorted(maps.Keys(group.Also)) {
			also = append(also, fmt.Sprintf("%s in %d", guarantee, group.Also[guarantee]))
		}
		fmt.Fprintln(b, explain.Wrap(4, "also broken: "+strings.Join(also, ", ")))
	}
	if common := s.common(group); len(common) > 0 {
		var faults []string
		for _, kind := range common[:min(len(common), faultsShown)] {
			faults = append(faults, fmt.Sprintf("%s (in %d %% of all seeds)", kind, 100*s.Faults[kind]/s.Done))
		}
		fmt.Fprintln(b, explain.Wrap(4, "fired in each: "+strings.Join(faults, ", ")))
	}
	fmt.Fprintf(b, "    seed %d:\n%s\n", group.Lowest[0], explain.Wrap(6, group.Example))
	if group.Artifacts != "" {
		fmt.Fprintf(b, "    artifacts in %s\n", group.Artifacts)
	}
	fmt.Fprintf(b, "    Reproduce with: %s\n", group.Reproduce)
}

// seedList lists the lowest of a number of seeds.
func seedList(lowest []uint64, count uint64) string {
	list := listed(lowest)
	if more := count - uint64(len(lowest)); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

func listed[T any](numbers []T) string {
	words := make([]string, len(numbers))
	for i, number := range numbers {
		words[i] = fmt.Sprint(number)
	}
	return strings.Join(words, ", ")
}
