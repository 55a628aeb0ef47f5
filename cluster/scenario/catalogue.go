package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/watchsim/watchsim/cluster/workload"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/sim"
)

// Entry is a scenario: a named base for specs.
type Entry struct {
	Name string
	// Summary says what the scenario tests.
	Summary string
	spec    Spec
	// any says that the seed draws all knobs.
	any bool
	// script is what the clients do; nil if the seed decides.
	script []workload.ScriptLine
	// minimum is what must happen in a run of the scenario; see vacuity.go.
	minimum linearizability.Counts
}

// catalogue lists the scenarios; the first is the default.
var catalogue = slices.Concat(drawn, []Entry{scenarioAny}, scripted)

// The scenarios for runs that name none.
const (
	// Default is for one seed: small, and the same for all seeds except for faults and requests.
	Default = "minute"
	// Any is for ranges and hunts: the seed decides everything.
	Any = "any"
)

var scenarioAny = Entry{
	Name: Any, Summary: "the seed decides everything: topology, sizes, clients, settings of etcd and Kubernetes, faults; see `simrun knobs`",
	spec: Spec{Members: 1, Servers: 1}, any: true,
	minimum: linearizability.Counts{Writes: 1, Lists: 1, Streams: 1, Events: 1, Changes: 1},
}

// drawn lists the scenarios in which the seed decides what clients do.
var drawn = []Entry{
	{Name: Default, Summary: "one etcd member, one API server, a random half of the kinds of fault",
		spec:    Spec{Members: 1, Servers: 1},
		minimum: linearizability.Counts{Writes: 5, Gets: 5, Lists: 5, Streams: 4, Events: 15, Bookmarks: 1, Changes: 8, Faults: 1, Shared: 1, Released: 1}},
	{Name: "quorum", Summary: "three etcd members: in addition, leader changes and loss of quorum",
		spec:    Spec{Members: 3, Servers: 1},
		minimum: linearizability.Counts{Writes: 2, Gets: 2, Lists: 4, Streams: 4, Events: 6, Bookmarks: 1, Changes: 3, Faults: 1, Released: 1}},
	{Name: "pair", Summary: "two API servers over one etcd member, with clients on both",
		spec:    Spec{Members: 1, Servers: 2},
		minimum: linearizability.Counts{Writes: 8, Gets: 8, Lists: 10, Streams: 4, Events: 25, Bookmarks: 2, Changes: 9, Faults: 1, Shared: 1, Released: 2}},
	{Name: "storm", Summary: "three etcd members, two API servers, and every kind of fault in every run",
		spec:    Spec{Members: 3, Servers: 2, Every: true},
		minimum: linearizability.Counts{Writes: 1, Lists: 2, Streams: 5, Blocks: 3, Events: 10, Bookmarks: 2, Resumed: 1, Changes: 4, Faults: 10, Released: 2}},
	{Name: "calm", Summary: "no faults: only the schedule is adverse",
		spec:    Spec{Members: 1, Servers: 1, Kinds: []string{}},
		minimum: linearizability.Counts{Writes: 10, Gets: 15, Lists: 18, Streams: 3, Events: 25, Bookmarks: 1, Changes: 14, Delivered: 1, Informers: 1, Shared: 1, Released: 1}},
	{Name: "cold", Summary: "three etcd members and two API servers that boot under the seed's own schedule, instead of being forked from a template",
		spec:    Spec{Members: 3, Servers: 2, Cold: true},
		minimum: linearizability.Counts{Writes: 2, Gets: 2, Lists: 4, Streams: 4, Events: 6, Bookmarks: 1, Changes: 3, Faults: 1, Released: 2}},
	{Name: "reinit", Summary: "the caches lose their watch on etcd again and again, and behind partitions, while many watches start",
		spec: Spec{
			Members: 1, Servers: 2, Watchers: 36, MaxCount: 14, Every: true,
			Kinds:    []string{"watch-break", "partition"},
			Schedule: &sim.Schedule{YieldEvery: 60, StallOneIn: 50, StallMin: 300 * time.Millisecond, StallMax: 4 * time.Second},
		},
		minimum: linearizability.Counts{Writes: 10, Gets: 14, Lists: 12, Streams: 20, Blocks: 10, Events: 75, Bookmarks: 7, Changes: 12,
			Refused: 1, Faults: 2, Shared: 1, Released: 2, Mutated: 9}},
	{Name: "crowd", Summary: "no faults and few preemptions: clients stop reading during a flood of writes",
		spec: Spec{
			Members: 1, Servers: 1, Watchers: 6, StalledWatchers: 8, Flood: 200, EventBytes: 32 << 10,
			Kinds:    []string{},
			Schedule: &sim.Schedule{YieldEvery: 200},
		},
		minimum: linearizability.Counts{Writes: 120, Gets: 20, Lists: 20, Streams: 75, Blocks: 40, Events: 450, Bookmarks: 5, Changes: 120,
			Unblocked: 30, Shared: 3, Released: 1, Mutated: 65}},
	{Name: "idle", Summary: "after faults, minutes in which only another resource is written: clients learn of new revisions by bookmarks alone",
		spec: Spec{
			Members: 1, Servers: 1, Duration: 150 * time.Second, Quiet: 110 * time.Second,
			Neighbour: 7 * time.Second,
		},
		minimum: linearizability.Counts{Writes: 3, Gets: 7, Lists: 5, Streams: 4, Events: 8, Bookmarks: 4, Changes: 6, Faults: 1,
			Refreshed: 1, Shared: 10, Released: 1}},
	{Name: "growth", Summary: "a flood of changes after two slow minutes: the cache's window has lost events, and then it grows",
		spec: Spec{
			Members: 1, Servers: 1, StalledWatchers: 8, Flood: 160, Kinds: []string{},
			Duration: 190 * time.Second, Quiet: 40 * time.Second, Operations: 400,
		},
		minimum: linearizability.Counts{Writes: 130, Gets: 50, Lists: 40, Streams: 160, Blocks: 90, Events: 750, Bookmarks: 9, Changes: 130,
			Unblocked: 4, Shared: 5, Released: 1, Mutated: 150}},
	{Name: "tombstone", Summary: "history is compacted at deletions: while the cache is cut off before one, and where one is the last change before a crash",
		spec: Spec{Members: 1, Servers: 1, Operations: 160, Plan: tombstonePlan},
		minimum: linearizability.Counts{Writes: 3, Gets: 10, Lists: 6, Streams: 4, Blocks: 1, Events: 10, Bookmarks: 1, Changes: 4,
			Faults: 7, Shared: 1, Released: 1}},
	{Name: "silence", Summary: "halfway through the faults, all writes but those of another resource stop: a cache that re-establishes its watch gets no event, and only progress notifications advance it",
		spec: Spec{
			Members: 1, Servers: 1, Duration: 150 * time.Second, Quiet: 110 * time.Second,
			Writing: 18 * time.Second, Neighbour: 7 * time.Second,
		},
		minimum: linearizability.Counts{Writes: 4, Gets: 7, Lists: 5, Streams: 4, Blocks: 1, Events: 10, Bookmarks: 3, Changes: 4, Faults: 1,
			Shared: 10, Released: 1}},
	{Name: "rewatch", Summary: "the caches' watches on etcd end several times while etcd's streams are stalled, and all clients ask for the newest state",
		spec: Spec{Members: 1, Servers: 2, Operations: 400, Plan: rewatchPlan},
		minimum: linearizability.Counts{Writes: 10, Gets: 14, Lists: 8, Streams: 14, Blocks: 5, Events: 13, Bookmarks: 4, Changes: 14,
			Resumed: 3, Refused: 4, Faults: 52, Shared: 1, Released: 2, Mutated: 1}},
}

// tombstonePlan repeatedly compacts etcd at a deletion. If the deletion is the first
// change since the cache's stream was delayed, the cache has not received it and
// requests it again on a new connection, where it is now the oldest revision of etcd's
// history.
var tombstonePlan = func() string {
	plan := "# watchsim plan v1\n"
	for at := 2 * time.Second; at < 40*time.Second; at += 6 * time.Second {
		plan += fmt.Sprintf("at %v stream-stall server=apiserver-0 for=2.5s\n", at) +
			fmt.Sprintf("at %v compaction revision=deletion\n", at+1800*time.Millisecond) +
			fmt.Sprintf("at %v reset from=apiserver-0 to=etcd-0\n", at+2*time.Second) +
			fmt.Sprintf("at %v compaction revision=deletion\n", at+4*time.Second) +
			fmt.Sprintf("at %v etcd-crash member=etcd-0 down=200ms\n", at+5200*time.Millisecond)
	}
	return plan
}()

// rewatchPlan repeatedly delays the stream of a cache's watches and ends its watch
// several times meanwhile, so that some watches are cancelled before etcd's client
// learns of them. Reads that must be fresh wait throughout and request progress.
var rewatchPlan = func() string {
	plan := "# watchsim plan v1\n"
	for at := 3 * time.Second; at < 42*time.Second; at += 3 * time.Second {
		for server := range 2 {
			began := at + time.Duration(server)*1500*time.Millisecond
			plan += fmt.Sprintf("at %v stream-stall server=apiserver-%d for=1.2s\n", began, server)
			for _, after := range []time.Duration{300, 600, 900} {
				plan += fmt.Sprintf("at %v watch-close server=apiserver-%d\n", began+after*time.Millisecond, server)
			}
		}
	}
	return plan
}()

// Catalogue lists the scenarios in a fixed order; the first is the default.
func Catalogue() []Entry { return append([]Entry{}, catalogue...) }

// ErrUnknownScenario means that no scenario has the given name.
var ErrUnknownScenario = errors.New("unknown scenario")

// find returns the scenario with the given name.
func find(name string) (Entry, bool) {
	for _, entry := range catalogue {
		if entry.Name == name {
			return entry, true
		}
	}
	return Entry{}, false
}

// Named returns the spec of a scenario, without a target and a seed.
func Named(name string) (Spec, error) {
	entry, known := find(name)
	if !known {
		var names []string
		for _, entry := range catalogue {
			names = append(names, entry.Name)
		}
		return Spec{}, fmt.Errorf("%w: expected one of %s, found %q", ErrUnknownScenario, strings.Join(names, ", "), name)
	}
	spec := entry.spec
	spec.Scenario = name
	spec.Duration = cmp.Or(spec.Duration, time.Minute)
	spec.Operations = cmp.Or(spec.Operations, 200)
	if spec.Explore != nil {
		spec.Explore = new(*spec.Explore)
	}
	return spec, nil
}
