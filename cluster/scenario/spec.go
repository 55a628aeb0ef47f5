package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/watchsim/watchsim/cluster"
	"github.com/watchsim/watchsim/cluster/released"
	"github.com/watchsim/watchsim/cluster/workload"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/sim"
)

// The limits of a spec.
const (
	MaxMembers    = 3
	MaxServers    = 4
	MaxOperations = 100_000
	MinDuration   = 20 * time.Second
	MaxDuration   = 24 * time.Hour
)

// Spec is what a run is a function of, together with the binary that runs it.
type Spec struct {
	Scenario string `json:"scenario"`
	Target   string `json:"target"`
	// Mutant is the known bug the binary was built with, empty for none.
	Mutant string `json:"mutant,omitempty"`
	Seed   uint64 `json:"seed"`
	// Members and Servers are how many etcd members and API servers there are.
	Members int `json:"members"`
	Servers int `json:"servers"`
	// Duration is the simulated length of the run, its quiet phase included.
	Duration time.Duration `json:"duration"`
	// Quiet is how much of it the quiet phase takes, 0 for the workload's own.
	Quiet time.Duration `json:"quiet,omitempty"`
	// Writing is how long clients write, 0 for as long as there are faults and once
	// after that.
	Writing time.Duration `json:"writing,omitempty"`
	// Operations is how many requests writers and readers make.
	Operations int `json:"operations"`
	// Watchers is how many clients start watches of limited length, 0 for the
	// workload's own number.
	Watchers int `json:"watchers,omitempty"`
	// StalledWatchers is how many clients stall on every stream to the end of the run, and
	// Flood how many writes they are to hold up once faults have healed.
	StalledWatchers int `json:"sleepers,omitempty"`
	Flood           int `json:"flood,omitempty"`
	// EventBytes is the size of a watch event on the wire; 0 lets each seed decide.
	EventBytes int `json:"eventBytes,omitempty"`
	// Neighbour is how often another resource is written to, 0 for never.
	Neighbour time.Duration `json:"neighbour,omitempty"`
	// MaxCount is how many faults of one kind a drawn plan has at most, 0 for
	// the usual.
	MaxCount int `json:"countMost,omitempty"`
	// Schedule is how unkind the scheduler is; nil lets each seed decide.
	Schedule *sim.Schedule `json:"schedule,omitempty"`
	// ScheduleSeed is the seed that the schedule of a reduced run is drawn from,
	// 0 if goroutines take turns as far as its tape says nothing else.
	ScheduleSeed uint64 `json:"scheduleSeed,omitempty"`
	// Kinds are the kinds of fault a plan is drawn from: nil for all, empty for
	// none. Every puts each of them into the plan.
	Kinds []string `json:"kinds"`
	Every bool     `json:"every,omitempty"`
	// Plan is the text of a plan to follow instead of one drawn from the seed.
	Plan string `json:"plan,omitempty"`
	// WindowEvents is how many events a cache's window holds; 0 leaves it to the cache.
	WindowEvents int `json:"windowEvents,omitempty"`
	// Cold has the run boot its cluster itself, under its own schedule, instead of
	// beginning in one that has booted calmly.
	Cold bool `json:"cold,omitempty"`
	// Explore makes the run one that a search steers; nil for an ordinary one.
	Explore *Exploration `json:"explore,omitempty"`
	// Branches are where the schedule goes on by other seeds, in order.
	Branches []Branch `json:"branches,omitempty"`
	// Reduced says what is left of a run that was reduced, nil for a whole one.
	Reduced *Reduction `json:"reduced,omitempty"`
}

// Reduction is what is left of a run that was made smaller.
type Reduction struct {
	// Guarantee is the broken one that was kept.
	Guarantee string `json:"guarantee"`
	// Parts are what the clients still do.
	Parts []workload.Part `json:"parts"`
}

// ErrSpec means that a spec describes no possible run.
var ErrSpec = errors.New("impossible run")

// Validate reports the first thing that makes a spec impossible.
func (s Spec) Validate() error {
	switch {
	case s.Members != 1 && s.Members != MaxMembers:
		return fmt.Errorf("%w: expected 1 or %d etcd members, found %d", ErrSpec, MaxMembers, s.Members)
	case s.Servers < 1 || s.Servers > MaxServers:
		return fmt.Errorf("%w: expected 1 to %d API servers, found %d", ErrSpec, MaxServers, s.Servers)
	case s.Reduced == nil && s.Duration < MinDuration || s.Duration > MaxDuration:
		return fmt.Errorf("%w: expected a duration of %v to %v, found %v", ErrSpec, MinDuration, MaxDuration, s.Duration)
	case s.Duration <= s.workload().Quiet:
		return fmt.Errorf("%w: expected a duration above %v, which is what the quiet phase of scenario %s takes, found %v",
			ErrSpec, s.workload().Quiet, s.Scenario, s.Duration)
	case s.Operations < 1 || s.Operations > MaxOperations:
		return fmt.Errorf("%w: expected 1 to %d operations, found %d", ErrSpec, MaxOperations, s.Operations)
	}
	if err := checkBranches(s.Branches); err != nil {
		return err
	}
	plan, err := s.plan()
	if err != nil {
		return err
	}
	within := s.Duration
	if s.Reduced != nil {
		within = 0 // what is left of a run may end before its faults
	}
	if err := plan.Check(s.topology(), within); err != nil {
		return faults.Locate(err, s.Plan)
	}
	if e := s.Explore; e != nil && (e.From < 0 || e.To < e.From || e.To > s.workload().Active()) {
		return fmt.Errorf("%w: expected a window that ends after it begins and by %v, when faults have healed, found %v to %v",
			ErrSpec, s.workload().Active(), e.From, e.To)
	}
	return s.workload().Validate()
}

// workload is what the clients of the run do.
func (s Spec) workload() workload.Config {
	config := workload.DefaultConfig()
	config.Duration, config.Operations = s.Duration, s.Operations
	config.StalledWatchers, config.Flood, config.Writing = s.StalledWatchers, s.Flood, s.Writing
	if s.Quiet > 0 {
		config.Quiet = s.Quiet
	}
	if s.Watchers > 0 {
		config.Watchers = s.Watchers
	}
	if release, known := released.Find(s.Target); known {
		config.PlainLists = release.PlainLists
	}
	if entry, known := find(s.Scenario); known && entry.script != nil {
		config.Script = entry.script
		config.Writers, config.Readers, config.Reflectors, config.Watchers, config.Informers = 0, 0, 0, 0, 0
		config.Namespaces, config.Labels, config.Nodes = config.Namespaces[:1], nil, nil
	}
	if s.Reduced != nil {
		config.Parts = append([]workload.Part{}, s.Reduced.Parts...)
	}
	return config
}

func (s Spec) topology() faults.Topology {
	return faults.Topology{
		Members:   cluster.MemberNames(s.Members),
		Servers:   cluster.ServerNames(s.Servers),
		Clients:   s.workload().Clients(),
		Consumers: s.workload().Consumers(),
	}
}

// QuietPhase is how long the quiet phase is.
func (s Spec) QuietPhase() time.Duration { return s.workload().Quiet }

// faultsStart is when the first fault may begin: the caches are filled by then.
const faultsStart = 3 * time.Second

// maxCount is how many faults of one kind a drawn plan usually has at most.
const maxCount = 3

// plan is the spec's own plan, or the one that its seed holds.
func (s Spec) plan() (faults.Plan, error) {
	if s.Plan != "" {
		return faults.Parse(s.Plan)
	}
	if s.Kinds != nil && len(s.Kinds) == 0 {
		return nil, nil
	}
	return faults.Generate(sim.Stream(s.Seed, "faults"), faults.GeneratorConfig{
		Topology: s.topology(),
		Kinds:    slices.Clone(s.Kinds),
		Every:    s.Every,
		MaxCount: cmp.Or(s.MaxCount, maxCount),
		Start:    faultsStart,
		HealBy:   s.workload().Active(),
	})
}

// schedule is how unkind the scheduler is in this run. It differs from seed to
// seed, because a bug that needs much of one thing often needs little of another.
func (s Spec) schedule() sim.Schedule {
	if s.steered() {
		return sim.Schedule{}
	}
	if s.Schedule != nil {
		return *s.Schedule
	}
	return s.DrawnSchedule()
}

// DrawnSchedule is the schedule that the seed draws.
func (s Spec) DrawnSchedule() sim.Schedule {
	random := sim.Stream(s.Seed, "intensity")
	schedule := sim.DefaultSchedule
	schedule.YieldEvery = []uint32{20, 60, 200, 600}[random.IntN(4)]
	schedule.StallOneIn = []uint32{0, 5, 20, 60}[random.IntN(4)]
	schedule.StallMax = []time.Duration{50 * time.Millisecond, 500 * time.Millisecond, 3 * time.Second}[random.IntN(3)]
	schedule.FocusOneIn = []uint32{0, 0, 100, 400}[random.IntN(4)]
	return schedule
}

// limits bound the run in proportion to its length.
func (s Spec) limits() sim.Limits {
	limits := sim.DefaultLimits
	limits.Simulated = 3*s.Duration + 5*time.Minute
	limits.Decisions *= uint64(1 + s.Duration/(5*time.Minute))
	return limits
}

// Limits renders every limit in force for a banner.
func (s Spec) Limits() string { return s.limits().String() }
