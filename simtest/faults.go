package simtest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/sim"
)

// maxCount is how many faults of one kind a run has at most.
const maxCount = 3

// notHere are the kinds of faults that need the harness between an API server and its cache,
// or clients of the harness.
var notHere = map[string]bool{
	"watch-break": true, "watch-close": true, "watch-error": true, "list-failure": true, "decode-failure": true,
	"expiring-writes": true, "storage-restart": true, "slow-consumer": true, "stalled-consumer": true,
}

// outage is the kind of fault that needs API servers which ask a key management service.
const outage = "transform-failure"

// Kinds are the names of the kinds of faults that tests with a configuration can have.
func Kinds(config Config) (names []string) {
	for _, kind := range faults.Kinds() {
		if !notHere[kind.Name] && (kind.Name != outage || config.KMS) {
			names = append(names, kind.Name)
		}
	}
	return names
}

// Faults begins the faults of this seed, which happen within the given time: crashes and
// restarts of programs, API servers and etcd members, partitions, slow links and disks,
// compactions, jumps of clocks and others. It returns at once. Programs that are started
// later have no faults of their own.
func (c *Cluster) Faults(within time.Duration) {
	c.t.Helper()
	if !c.running {
		c.t.Fatal("expected Faults in the function of the test, found it in Config.Boot, where nothing goes wrong")
	}
	if c.breaking != nil {
		c.t.Fatal("expected Faults to be called once, found a second call")
	}
	topology := faults.Topology{Members: c.booted.Members(), Servers: c.booted.Servers()}
	for _, p := range c.programs {
		topology.Clients, topology.Programs = append(topology.Clients, p.name), append(topology.Programs, p.name)
	}
	kinds, late := c.job.Kinds, c.world.Rand("late").IntN(2) == 0
	if kinds == nil {
		kinds = few(c.world.Rand("calm"), Kinds(c.settings))
	} else {
		late = late && slices.Contains(kinds, "watch-lag")
	}
	topology.Watched = slices.Sorted(maps.Keys(c.watched))
	began, beganWorld := time.Now(), c.world.Now()
	patterns := append(faults.Patterns(), "")            // none
	maxLasts := map[string]time.Duration{outage: within} // the test waits as long as readers that have backed off
	for _, kind := range []string{"partition", "partition-one-way"} {
		maxLasts[kind] = c.settings.MaxPartition
	}
	plan, err := faults.Generate(c.world.Rand("faults"), faults.GeneratorConfig{
		Topology: topology, Kinds: kinds, MaxCount: maxCount, Start: time.Millisecond, HealBy: within,
		MaxLasts: maxLasts, Late: late,
		Pattern: patterns[c.world.Rand("pattern").IntN(len(patterns))],
	})
	plan = slices.DeleteFunc(plan, func(f faults.Fault) bool { return f.Point != "" && f.Point != faults.PointSync }) // nothing here reaches the others
	given := c.settings.Plan
	if c.job.HasPlan {
		given = c.job.Plan
	}
	if err == nil && (c.job.HasPlan || given != "") {
		sim.Aside(func() { // comments in a plan must not make another run of it
			if plan, err = faults.Parse(given); err == nil {
				err = plan.Check(topology, 0)
			}
		})
	}
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

// few keeps all kinds of faults, or one in 2, 4, 8 or 16 of them. Some bugs need much to go wrong at the same time; others are in what
// programs do, and come to do only if little goes wrong.
func few(random *rand.Rand, kinds []string) []string {
	oneIn := 1 << random.IntN(5)
	kept := slices.DeleteFunc(slices.Clone(kinds), func(string) bool { return random.IntN(oneIn) > 0 })
	if len(kept) == 0 {
		kept = []string{kinds[random.IntN(len(kinds))]}
	}
	return kept
}

// Heal waits until the faults are over, and then has goroutines run without being held up.
func (c *Cluster) Heal() {
	if c.healed != nil {
		<-c.healed
	}
	c.world.Calm()
}
