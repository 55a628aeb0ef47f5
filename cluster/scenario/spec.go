package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/watchsim/watchsim/cluster"
	"github.com/watchsim/watchsim/cluster/target"
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

// Spec is everything that a run is a function of, apart from the binary.
type Spec struct {
	Scenario string `json:"scenario"`
	Target   string `json:"target"`
	// Mutant is the known bug the binary was built with, empty for none.
	Mutant string `json:"mutant,omitempty"`
	// Use is the code that the binary was built with instead of what go.mod requires, as
	// module=version or module=folder with commas between, empty for none.
	Use  string `json:"use,omitempty"`
	Seed uint64 `json:"seed"`
	// Members and Servers are the numbers of etcd members and API servers.
	Members int `json:"members"`
	Servers int `json:"servers"`
	// Duration is the simulated length of the run, including its quiet phase.
	Duration time.Duration `json:"duration"`
	// Quiet is the length of the quiet phase, 0 for the workload's default.
	Quiet time.Duration `json:"quiet,omitempty"`
	// Writing is how long clients write; 0 means while there are faults, and once more
	// after that.
	Writing time.Duration `json:"writing,omitempty"`
	// Operations is how many requests writers and readers make.
	Operations int `json:"operations"`
	// Watchers is how many clients open watches of limited length, 0 for the workload's
	// default.
	Watchers int `json:"watchers,omitempty"`
	// StalledWatchers is how many clients stall on every stream until the end of the
	// run. Flood is how many writes follow after healing, to show whether stalled
	// watchers delay them.
	StalledWatchers int `json:"sleepers,omitempty"`
	Flood           int `json:"flood,omitempty"`
	// EventBytes is the size of a watch event on the wire; 0 lets the seed decide.
	EventBytes int `json:"eventBytes,omitempty"`
	// Neighbour is the interval of writes to another resource, 0 for none.
	Neighbour time.Duration `json:"neighbour,omitempty"`
	// MaxCount bounds the faults of one kind in a drawn plan, 0 for the default.
	MaxCount int `json:"countMost,omitempty"`
	// Schedule says how much the scheduler deviates; nil lets the seed decide.
	Schedule *sim.Schedule `json:"schedule,omitempty"`
	// ScheduleSeed draws the schedule of a reduced run where its tape says nothing; 0
	// stands for the default schedule.
	ScheduleSeed uint64 `json:"scheduleSeed,omitempty"`
	// Kinds are the kinds of fault that a plan is drawn from: nil for all, empty for
	// none. Every puts each of them into the plan.
	Kinds []string `json:"kinds"`
	Every bool     `json:"every,omitempty"`
	// Plan is the text of a plan that replaces the one drawn from the seed.
	Plan string `json:"plan,omitempty"`
	// WindowEvents is the size of a cache's window in events; 0 leaves it to the cache.
	WindowEvents int `json:"windowEvents,omitempty"`
	// Cold makes the run boot its cluster under its own schedule instead of starting
	// from a template.
	Cold bool `json:"cold,omitempty"`
	// Setup configures the cluster and the clients beyond the fields above.
	Setup Setup `json:"setup,omitzero"`
	// Given are the knobs that the user has set, in a scenario that draws them; see
	// WithSeed.
	Given []string `json:"given,omitempty"`
	// Explore lets a search steer the run; nil for an ordinary one.
	Explore *Exploration `json:"explore,omitempty"`
	// Branches are where the schedule continues from other seeds, in order.
	Branches []Branch `json:"branches,omitempty"`
	// Reduced is what is left of a reduced run, nil for a whole one.
	Reduced *Reduction `json:"reduced,omitempty"`
}

// Reduction is what is left of a run that was shrunk.
type Reduction struct {
	// Guarantee is the broken guarantee that was preserved.
	Guarantee string `json:"guarantee"`
	// Parts are what the clients still do.
	Parts []workload.Part `json:"parts"`
}

// ErrSpec means that a spec describes an impossible run.
var ErrSpec = errors.New("impossible run")

// Validate returns the first error that makes a spec impossible.
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
		within = 0 // a reduced run may end before its faults
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

// workload returns the configuration of the run's clients.
func (s Spec) workload() workload.Config {
	config := workload.DefaultConfig()
	config.Duration, config.Operations = s.Duration, s.Operations
	config.StalledWatchers, config.Flood, config.Writing = s.StalledWatchers, s.Flood, s.Writing
	config.Quiet = cmp.Or(s.Quiet, config.Quiet)
	config.Watchers = cmp.Or(s.Watchers, config.Watchers)
	config.Writers = cmp.Or(s.Setup.Writers, config.Writers)
	config.Readers = cmp.Or(s.Setup.Readers, config.Readers)
	config.Reflectors = cmp.Or(s.Setup.Reflectors, config.Reflectors)
	config.Informers = cmp.Or(s.Setup.Informers, config.Informers)
	config.OperationTimeout = cmp.Or(s.Setup.Timeout, config.OperationTimeout)
	config.Remember = cmp.Or(s.Setup.Remember, config.Remember)
	config.MaxPageLimit = cmp.Or(int64(s.Setup.PageLimit), config.MaxPageLimit)
	config.Mix, config.Initial, config.WatchTimeout = s.Setup.Mix, s.Setup.Initial, s.Setup.WatchTimeout
	config.Selectors, config.HandlerDelay = s.Setup.Selectors, s.Setup.HandlerDelay
	config.Roaming = s.Setup.Roaming
	config.Rename(s.Setup.Names)
	if release, known := target.FindRelease(s.Target); known {
		config.PlainLists = release.PlainLists
	}
	if slices.Contains(s.Setup.Server.Gates, withoutWatchList) {
		config.PlainLists = true
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

// QuietPhase returns the length of the quiet phase.
func (s Spec) QuietPhase() time.Duration { return s.workload().Quiet }

// faultsStart is when the first fault may begin; by then the caches are initialised.
const faultsStart = 3 * time.Second

// maxCount is the default for the maximum number of faults of one kind in a drawn plan.
const maxCount = 3

// plan returns the spec's own plan, or the one drawn from its seed.
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
		Pattern:  s.Setup.Pattern,
		Start:    faultsStart,
		HealBy:   s.workload().Active(),
	})
}

// The sizes of etcd's databases. A write of a small object takes about 2 KiB of pages.
const (
	usualWrites   = 600 // reads included, as a run counts them
	bytesPerWrite = 2 << 10
)

// The parts of a small quota.
const (
	minQuota         = 32 << 10 // what etcd takes for itself
	minBytesPerWrite = 512      // without padding, which may take twice its size
)

// quota returns the largest size of etcd's databases, 0 for the default. Larger ones come in few
// sizes, because each size is a template.
func (s Spec) quota() int64 {
	config := s.workload()
	writes := int64(config.Operations + config.Initial + config.Flood)
	if percent := int64(s.Setup.Quota); percent > 0 {
		live := int64(len(config.Namespaces)*len(config.Names) + config.Initial)
		return minQuota + (live+writes*percent/100)*int64(minBytesPerWrite+2*s.Setup.ObjectBytes)
	}
	if s.Setup.ObjectBytes == 0 && writes <= usualWrites {
		return 0
	}
	quota := int64(8 << 20)
	for quota < 2*writes*int64(bytesPerWrite+s.Setup.ObjectBytes) {
		quota *= 4
	}
	return quota
}

// withoutDrawnPlan returns the spec without its plan if that is the one that its seed draws: a
// recorded run contains it as text.
func (s Spec) withoutDrawnPlan() Spec {
	if s.Plan == "" {
		return s
	}
	drawn := s
	drawn.Plan = ""
	if plan, err := drawn.plan(); err == nil && plan.String() == s.Plan {
		return drawn
	}
	return s
}

// schedule returns the schedule settings of the run. They differ between seeds, because
// a bug that needs much of one kind of deviation often needs little of another.
func (s Spec) schedule() sim.Schedule {
	if s.steered() {
		return sim.Schedule{}
	}
	if s.Schedule != nil {
		return *s.Schedule
	}
	return s.DrawnSchedule()
}

// DrawnSchedule returns the schedule settings that the seed and the knobs decide.
func (s Spec) DrawnSchedule() sim.Schedule {
	random := sim.Stream(s.Seed, "intensity")
	schedule := sim.DefaultSchedule
	schedule.YieldEvery = []uint32{20, 60, 200, 600}[random.IntN(4)]
	schedule.StallOneIn = []uint32{0, 5, 20, 60}[random.IntN(4)]
	schedule.StallMax = []time.Duration{50 * time.Millisecond, 500 * time.Millisecond, 3 * time.Second}[random.IntN(3)]
	schedule.FocusOneIn = []uint32{0, 0, 100, 400}[random.IntN(4)]
	if s.Setup.Steady {
		schedule.StallOneIn, schedule.FocusOneIn = 0, 0
	}
	schedule.YieldEvery = cmp.Or(uint32(s.Setup.YieldEvery), schedule.YieldEvery)
	schedule.StallOneIn = cmp.Or(uint32(s.Setup.StallOneIn), schedule.StallOneIn)
	schedule.FocusOneIn = cmp.Or(uint32(s.Setup.FocusOneIn), schedule.FocusOneIn)
	return schedule
}

// Limits returns the limits of the run, in proportion to its length.
func (s Spec) Limits() sim.Limits {
	limits := sim.DefaultLimits
	limits.Simulated = 3*s.Duration + 5*time.Minute
	limits.Decisions *= uint64(1 + s.Duration/(5*time.Minute))
	return limits
}
