package campaign

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/watchsim/watchsim/cluster/scenario"
	"github.com/watchsim/watchsim/linearizability"
)

// seedsShown is how many seeds of a group, or missing ones, a summary names: the lowest.
const seedsShown = 10

// Summary is the summary of a campaign's results. It does not depend on the order of results, on
// how the campaign was divided, or on real time.
type Summary struct {
	Spec  scenario.Spec `json:"spec"`
	First uint64        `json:"first"`
	Last  uint64        `json:"last"`
	Build string        `json:"build"`
	Go    string        `json:"go"`

	// Seeds is the expected number of results, Done the actual one.
	Seeds        uint64 `json:"seeds"`
	Done         uint64 `json:"done"`
	Passed       uint64 `json:"passed"`
	Failed       uint64 `json:"failed"`
	Inconclusive uint64 `json:"inconclusive"`
	// NotDeterministic counts seeds that were two different runs. Each also counts as failed or
	// inconclusive.
	NotDeterministic uint64 `json:"not_deterministic"`

	// MissingShards are those without a results file, MissingSeeds the lowest seeds without a
	// result.
	MissingShards []int    `json:"missing_shards,omitempty"`
	MissingSeeds  []uint64 `json:"missing_seeds,omitempty"`

	// Groups are the failures by signature, most frequent first; Reasons are the inconclusive
	// seeds, in the same order.
	Groups  []*Group  `json:"groups"`
	Reasons []*Reason `json:"reasons,omitempty"`

	Operations       int     `json:"operations"`
	WatchEvents      int     `json:"watch_events"`
	SimulatedSeconds float64 `json:"simulated_seconds"`

	// Faults counts, for each kind, the seeds in which it fired.
	Faults map[string]uint64 `json:"faults"`

	header Header
	// milliseconds are simulated, and integers because a sum of floats would depend on its order.
	milliseconds int64
}

// Group is the failures with one signature.
type Group struct {
	Signature
	Count uint64 `json:"count"`
	// Lowest are the lowest seeds.
	Lowest []uint64 `json:"lowest_seeds"`
	// Also counts the failures that also broke other guarantees, and Faults those in which a kind
	// of fault fired.
	Also   map[string]uint64 `json:"also_broken,omitempty"`
	Faults map[string]uint64 `json:"faults"`
	// Example is the first line of the violation that gave the lowest seed its signature, Reproduce
	// the command that runs that seed, and Artifacts its folder if it exists.
	Example   string `json:"example"`
	Reproduce string `json:"reproduce"`
	Artifacts string `json:"artifacts,omitempty"`
}

// Reason is why seeds were inconclusive: the codes of the reasons.
type Reason struct {
	Text   string   `json:"reason"`
	Count  uint64   `json:"count"`
	Lowest []uint64 `json:"lowest_seeds"`
}

// NewSummary returns the empty summary of one shard, or of the whole campaign if the header says
// so.
func NewSummary(header Header) *Summary {
	return &Summary{
		Spec: header.Spec, First: header.First, Last: header.Last, Build: header.Build, Go: header.Go,
		Seeds: header.Seeds(), Groups: []*Group{}, Faults: map[string]uint64{}, header: header,
	}
}

// Add adds a result from a folder of results. It returns true if it is the first failure with its
// signature.
func (s *Summary) Add(result Result, folder string) (first bool) {
	s.Done++
	s.Operations += result.Operations
	s.WatchEvents += result.WatchEvents
	s.milliseconds += int64(result.SimulatedSeconds * 1000)
	s.SimulatedSeconds = float64(s.milliseconds) / 1000
	countFired(s.Faults, result)
	if result.NotDeterministic != "" {
		s.NotDeterministic++
	}
	switch {
	case result.Outcome == linearizability.Failed:
		s.Failed++
		return s.addFailure(result, folder)
	case result.NotDeterministic != "":
		s.addInconclusive(result.Seed, undetermined.Shape)
	case result.Outcome == linearizability.Passed:
		s.Passed++
	default:
		s.addInconclusive(result.Seed, reasonsOf(result))
	}
	return false
}

func (s *Summary) addInconclusive(seed uint64, text string) {
	s.Inconclusive++
	i := slices.IndexFunc(s.Reasons, func(r *Reason) bool { return r.Text == text })
	if i < 0 {
		i, s.Reasons = len(s.Reasons), append(s.Reasons, &Reason{Text: text})
	}
	reason := s.Reasons[i]
	reason.Count++
	reason.Lowest = lowest(reason.Lowest, seed)
}

func (s *Summary) addFailure(result Result, folder string) (first bool) {
	signature, witness := leading(result)
	i := slices.IndexFunc(s.Groups, func(g *Group) bool { return g.Signature == signature })
	if first = i < 0; first {
		i, s.Groups = len(s.Groups), append(s.Groups, &Group{Signature: signature, Also: map[string]uint64{}, Faults: map[string]uint64{}})
	}
	group := s.Groups[i]
	group.Count++
	group.Lowest = lowest(group.Lowest, result.Seed)
	if group.Lowest[0] == result.Seed {
		group.Example, _, _ = strings.Cut(witness.Text, "\n") // without the stacks of a panic
		group.Reproduce = s.header.Reproduce(result.Seed)
		group.Artifacts = artifacts(folder, s.Spec, result.Seed)
	}
	for _, guarantee := range result.Broken() {
		if guarantee != signature.Guarantee {
			group.Also[guarantee]++
		}
	}
	countFired(group.Faults, result)
	return first
}

// countFired counts the kinds of fault that fired in a run.
func countFired(counts map[string]uint64, result Result) {
	for kind, times := range result.Faults {
		if times > 0 {
			counts[kind]++
		}
	}
}

// lowest adds a seed to the lowest seeds.
func lowest(seeds []uint64, seed uint64) []uint64 {
	i, _ := slices.BinarySearch(seeds, seed)
	if i == seedsShown {
		return seeds
	}
	seeds = slices.Insert(seeds, i, seed)
	return seeds[:min(len(seeds), seedsShown)]
}

// finish sorts what was added, and drops artifacts that do not exist.
func (s *Summary) finish() {
	slices.SortFunc(s.Groups, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), a.compare(b.Signature))
	})
	slices.SortFunc(s.Reasons, func(a, b *Reason) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text))
	})
	for _, group := range s.Groups {
		if _, err := os.Stat(group.Artifacts); err != nil {
			group.Artifacts = ""
		}
	}
}

// Complete reports whether every seed has a result.
func (s *Summary) Complete() bool { return s.Done == s.Seeds }

// common lists the kinds of fault that fired in every failure of a group but not in every seed,
// those rarest among all seeds first: the likelier causes.
func (s *Summary) common(group *Group) []string {
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(group.Faults)) {
		if group.Faults[kind] == group.Count && s.Faults[kind] < s.Done {
			kinds = append(kinds, kind)
		}
	}
	slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(s.Faults[a], s.Faults[b]) })
	return kinds
}
