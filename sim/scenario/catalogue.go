package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/watchsim/watchsim/sim"
)

// Entry is a named setting for specs.
type Entry struct {
	Name string
	// Summary says what the scenario is for.
	Summary string
	spec    Spec
}

// catalogue lists the scenarios; the first is the default.
var catalogue = []Entry{
	{"minute", "one etcd member, one API server, every kind of fault in turn",
		Spec{Members: 1, Servers: 1}},
	{"quorum", "three etcd members: leader changes and lost quorums come on top",
		Spec{Members: 3, Servers: 1}},
	{"pair", "two API servers over one etcd member, with clients on both",
		Spec{Members: 1, Servers: 2}},
	{"storm", "three etcd members, two API servers, and every kind of fault in every run",
		Spec{Members: 3, Servers: 2, Every: true}},
	{"calm", "nothing goes wrong but the schedule",
		Spec{Members: 1, Servers: 1, Kinds: []string{}}},
	{"reinit", "API servers lose their watch on etcd again and again behind partitions, while watches start and stall",
		Spec{
			Members: 1, Servers: 2, Watchers: 12, CountMost: 14, Every: true,
			Kinds:    []string{"watch-break", "partition"},
			Schedule: &sim.Schedule{YieldEvery: 60, StallOneIn: 50, StallMin: 300 * time.Millisecond, StallMax: 4 * time.Second},
		}},
	{"crowd", "no faults and a kind schedule: clients that stop reading are in the way of a flood of writes",
		Spec{
			Members: 1, Servers: 1, Watchers: 6, Sleepers: 8, Flood: 200, EventBytes: 32 << 10,
			Kinds:    []string{},
			Schedule: &sim.Schedule{YieldEvery: 200},
		}},
	{"idle", "after faults, minutes in which nobody writes but a neighbour: bookmarks alone tell clients how far they are",
		Spec{
			Members: 1, Servers: 1, Duration: 150 * time.Second, Quiet: 110 * time.Second,
			Neighbour: 7 * time.Second,
		}},
}

// Catalogue lists the scenarios in a fixed order; the first is the default.
func Catalogue() []Entry { return append([]Entry{}, catalogue...) }

// ErrUnknownScenario means that no scenario has the name that was given.
var ErrUnknownScenario = errors.New("unknown scenario")

// Named returns the spec of a scenario, without target and seed.
func Named(name string) (Spec, error) {
	var names []string
	for _, entry := range catalogue {
		if entry.Name == name {
			spec := entry.spec
			spec.Scenario = name
			spec.Duration = cmp.Or(spec.Duration, time.Minute)
			spec.Operations = 200
			return spec, nil
		}
		names = append(names, entry.Name)
	}
	return Spec{}, fmt.Errorf("%w: expected one of %s, found %q", ErrUnknownScenario, strings.Join(names, ", "), name)
}
