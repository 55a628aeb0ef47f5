package simtest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/sim"
)

// maxCount is how many faults of one kind a run has at most.
const maxCount = 3

// notHere are the kinds that need the harness between an API server and its cache, or clients of
// the harness.
var notHere = map[string]bool{
	"watch-break": true, "watch-close": true, "watch-error": true, "list-failure": true, "decode-failure": true,
	"expiring-writes": true, "storage-restart": true, "slow-consumer": true, "stalled-consumer": true,
}

// outage is the kind that needs API servers with a key management service.
const outage = "transform-failure"

// Kinds returns the names of the kinds of faults that a test with this configuration can have.
func Kinds(config Config) (names []string) {
	for _, kind := range faults.Kinds() {
		if !notHere[kind.Name] && (kind.Name != outage || config.KMS) {
			names = append(names, kind.Name)
		}
	}
	return names
}

// Faults starts the faults of this seed, which happen within the given time: crashes and restarts
// of programs, API servers and etcd members, partitions, slow links and disks, compactions, clock
// jumps and others. It returns at once. Programs that are started later have no faults of their
// own.
func (c *Cluster) Faults(within time.Duration) {
	c.t.Helper()
	config := c.generator(within)
	// No pattern, or one. The patterns that make state stale are more likely: stale state is what programs handle worst.
	patterns := append(faults.Patterns(), "", faults.PatternLag, faults.PatternStale, faults.PatternStale)
	config.Pattern, config.Calm = patterns[c.world.Rand("pattern").IntN(len(patterns))], c.job.Kinds == nil
	config.Late = c.world.Rand("late").IntN(2) == 0 && (config.Calm || slices.Contains(config.Kinds, "watch-lag"))
	plan, err := faults.Generate(c.world.Rand("faults"), config)
	if err != nil {
		c.t.Fatal(err)
	}
	c.Inject(slices.DeleteFunc(plan, reachesNothing), within)
}

// Plans draws plans of faults within the given time, for the programs started so far.
func (c *Cluster) Plans(within time.Duration) *rapid.Generator[faults.Plan] {
	return rapid.Map(faults.Plans(c.generator(within)), func(plan faults.Plan) faults.Plan {
		return slices.DeleteFunc(plan, reachesNothing)
	})
}

// reachesNothing reports whether a fault waits for a point that nothing here reaches.
func reachesNothing(f faults.Fault) bool { return f.Point != "" && f.Point != faults.PointSync }

// topology is what faults can act on.
func (c *Cluster) topology() faults.Topology {
	topology := faults.Topology{Members: c.booted.Members(), Servers: c.booted.Servers(), Certified: c.booted.Servers()}
	for _, p := range c.programs {
		topology.Clients, topology.Programs = append(topology.Clients, p.name), append(topology.Programs, p.name)
	}
	return topology
}

// generator configures the drawing of plans.
func (c *Cluster) generator(within time.Duration) faults.GeneratorConfig {
	kinds := c.job.Kinds
	if kinds == nil {
		kinds = Kinds(c.settings)
	}
	return faults.GeneratorConfig{
		Topology: c.topology(), Kinds: kinds, MaxCount: maxCount, Start: time.Millisecond, HealBy: within,
		MaxLasts: map[string]time.Duration{
			outage:              within, // the test waits for readers that back off
			"partition":         c.settings.MaxPartition,
			"partition-one-way": c.settings.MaxPartition,
		},
	}
}

// Inject starts faults that the test has chosen instead of those of the seed: a plan from
// [faults.Parse], or one that [Draw] has drawn from Plans. When a run is repeated with fewer
// faults, or a kept failure is run, those faults replace the plan.
func (c *Cluster) Inject(plan faults.Plan, within time.Duration) {
	c.t.Helper()
	if !c.running {
		c.t.Fatal("expected Faults and Inject in the function of the test, found one in Config.Boot, where nothing goes wrong")
	}
	if c.breaking != nil {
		c.t.Fatal("expected one call of Faults or Inject, found a second")
	}
	began, beganWorld := time.Now(), c.world.Now()
	c.injected = c.Now()
	var err error
	sim.Aside(func() { // comments in a plan must not change the run
		if c.job.HasPlan {
			plan, err = faults.Parse(c.job.Plan)
		}
		if err == nil {
			err = plan.Check(c.topology(), 0)
		}
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.plan = plan
	var ctx context.Context
	ctx, c.breaking = context.WithCancel(context.Background())
	c.healed = make(chan struct{})
	engine := faults.NewEngine(plan, c.booted.Surface(c), began)
	over := time.After(within)
	go func() {
		defer close(c.healed)
		report, err := engine.Run(ctx)
		for _, fired := range report.Fired {
			fired.Begin, fired.End = fired.Begin+int64(beganWorld), fired.End+int64(beganWorld)
			c.fired = append(c.fired, fired)
		}
		if err != nil {
			c.problem = fmt.Errorf("a fault could not be healed: %w", err)
			return
		}
		select {
		case <-over:
		case <-ctx.Done():
		}
	}()
}

// Disturb stalls goroutines again, as the seed decides, until the next [Cluster.Heal] or [Cluster.Eventually]. What a test does after it has healed the
// cluster, such as to restart programs, otherwise happens in a calm world.
func (c *Cluster) Disturb() { c.world.Disturb() }

// Heal waits until the faults are over, and then stops stalling goroutines.
func (c *Cluster) Heal() {
	if c.healed != nil {
		<-c.healed
	}
	c.world.Calm()
}
