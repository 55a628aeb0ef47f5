package simtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/watchsim/watchsim/cluster"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/cacher"
	"github.com/watchsim/watchsim/cluster/target/kubernetes"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
	"github.com/watchsim/watchsim/sim/simnet"
)

// bootSeed is the seed under which every cluster boots, on a calm schedule.
const bootSeed = 1

// progressNotify is what Kubernetes recommends for etcd.
const progressNotify = 5 * time.Second

func bootConfig() sim.Config {
	return sim.Config{Source: sim.FromSeed(bootSeed), Network: cluster.Network(simnet.Latency{Min: 200 * time.Microsecond, Max: 400 * time.Microsecond})}
}

// servers are the API servers of a configuration.
func (c Config) servers() target.Servers {
	if c.Cache == Watchsim {
		return cacher.NewWeb()
	}
	return kubernetes.NewWeb()
}

// run is the boot of a cluster, and then the run of one seed.
type run struct {
	config Config
	t      *testing.T
	body   func(*T, *Cluster)
	begin  func() (job, error)

	cluster *Cluster
	report  report
	failed  error // why nothing could be run
}

// live runs in the world.
func (r *run) live(world *sim.World) {
	booted, err := cluster.Start(world, cluster.Config{
		Members: r.config.Members, Servers: r.config.Servers, Target: r.config.servers(),
		Latency: bootConfig().Network.Default.Latency, ProgressNotify: progressNotify,
	})
	r.cluster = newCluster(world, booted, r.config)
	if err == nil {
		err = r.cluster.prepare()
	}
	if err != nil {
		r.failed = fmt.Errorf("the cluster did not boot: %w", err)
		return
	}
	world.Pause(func() {
		next, err := r.begin()
		if err != nil {
			r.failed = err
			return
		}
		r.report.Seed, r.report.Kept = next.Seed, next.Kept
		r.cluster.job = next
		world.Begin(sim.Config{Source: sim.FromSeed(next.Seed), Schedule: sim.DefaultSchedule, Network: cluster.Network(cluster.LatencyOf(next.Seed))})
		r.cluster.began = world.Progress().Now
	})
	if r.failed != nil {
		return
	}
	booted.Follow(cluster.LatencyOf(r.report.Seed), 0)
	ctx, cancel := context.WithCancel(context.Background())
	reached := map[string]int{}
	said := isolate.Inside(r.t, func(inside testing.TB) {
		t := &T{TB: inside, Seed: r.report.Seed, ctx: ctx, reached: reached}
		r.cluster.t, r.cluster.ctx = t, ctx
		r.body(t, r.cluster)
	}, world.Process(testClient).Go)
	cancel()
	r.report.Log, r.report.Failed, r.report.Skipped, r.report.Reached = said.Log, said.Failed, said.Skipped, reached
	if err := r.cluster.problem; err != nil && !errors.Is(err, io.EOF) {
		r.report.Failed = true
		r.report.Log = append(r.report.Log, err.Error())
	}
	world.Settle()
}

// finish completes the report of a run that is over.
func (r *run) finish(result *sim.Result) {
	r.report.Plan, r.report.Faults = r.cluster.plan.String(), len(r.cluster.plan)
	r.report.Hash, r.report.Simulated = result.Hash, result.Simulated-r.cluster.began
	r.report.Requests = r.cluster.requests.lines
	var usage unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &usage)
	r.report.Processor = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	if result.Stop != sim.Completed {
		r.report.Failed, r.report.Stop = true, result.Stop.String()
		r.report.Stacks = result.Stacks
	}
}
