package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/watchsim/watchsim/cluster"
	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/simnet"
)

// Template is everything that the boot of a run's cluster is a function of. Runs with
// equal templates start in copies of one world.
type Template struct {
	Target  string
	Members int
	Servers int
	// WindowEvents is the spec's WindowEvents.
	WindowEvents int
	// QuotaBytes is the largest size of etcd's databases; 0 is the default.
	QuotaBytes int64
	// Cold templates do not boot a cluster; their runs do so themselves.
	Cold bool
}

// Template returns the run's template.
func (s Spec) Template() Template {
	if s.Cold {
		return Template{Target: s.Target, Cold: true}
	}
	return Template{Target: s.Target, Members: s.Members, Servers: s.Servers, WindowEvents: s.WindowEvents, QuotaBytes: s.quota()}
}

// templateSeed is the seed that boots every template.
const templateSeed = 1

// templateLatency is the network's latency during the boot.
var templateLatency = simnet.Latency{Min: 200 * time.Microsecond, Max: 400 * time.Microsecond}

// Begin returns the run to start in a booted, paused world. It is called outside the
// simulation, and may copy the process first.
type Begin func() (Spec, Options, error)

// Execute boots a template under a calm schedule, and then executes the run that begin
// returns. It returns an error if the run could not be started; failures of the run
// itself are in the result. log takes the logs of etcd and the cacher's libraries; it
// may be nil.
//
// A process can call it only once.
func Execute(template Template, made target.Target, log *sim.Logbook, begin Begin) (*Run, error) {
	if logger, ok := made.(target.Logger); ok && log != nil {
		logger.LogTo(log)
		defer logger.LogTo(nil)
	}
	var r *Run
	var ran *cluster.Cluster
	var failed error
	result, err := sim.Run(sim.Config{Source: sim.FromSeed(templateSeed), Network: cluster.Network(templateLatency)}, func(world *sim.World) {
		start := func(template Template, setup Setup) (err error) {
			setup.Etcd.QuotaBytes = template.QuotaBytes
			ran, err = cluster.Start(world, cluster.Config{
				Members: template.Members, Servers: template.Servers, Target: made, Latency: templateLatency,
				Etcd: setup.Etcd, ProgressNotify: cmp.Or(setup.ProgressNotify, etcd.DefaultProgressNotify), Logger: etcdLogger(log),
				Server: target.ServerConfig{
					BookmarkPeriod: cmp.Or(setup.BookmarkPeriod, bookmarkPeriod), WindowEvents: template.WindowEvents,
					ObjectBytes: setup.ObjectBytes, Tuning: setup.Server,
				},
			})
			return err
		}
		var up error
		if !template.Cold {
			up = start(template, Setup{})
		}
		world.Pause(func() {
			r, failed = started(world, template, begin)
		})
		if failed != nil {
			return
		}
		if template.Cold {
			own := r.Spec
			own.Cold = false
			up = start(own.Template(), own.Setup)
		}
		if up != nil {
			r.problem(fmt.Errorf("the cluster did not come up: %w", up))
			return
		}
		ran.Follow(cluster.LatencyOf(r.Spec.Seed), r.Spec.eventBytes())
		r.live(world, ran, made)
		world.Settle()
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	if r == nil {
		return nil, fmt.Errorf("the cluster did not boot: %s\n%s", result.Stop, result.Stacks)
	}
	r.Result = result
	if ran != nil {
		r.Waiting = ran.Waiting()
		r.Unreadable = r.readTruth(ran)
	}
	return r, nil
}

// started starts the run that begin returns.
func started(world *sim.World, template Template, begin Begin) (*Run, error) {
	spec, options, err := begin()
	if err != nil {
		return nil, err
	}
	if spec.Template() != template {
		return nil, fmt.Errorf("%w: expected one that begins in %+v, found %+v", ErrSpec, template, spec.Template())
	}
	r, err := newRun(spec)
	if err != nil {
		return nil, err
	}
	world.Begin(r.config(options))
	r.Began = world.Progress().Now // unless the run boots the cluster itself
	if options.Begun != nil {
		options.Begun(world)
	}
	if options.Closed != nil {
		r.closed = func() { options.Closed(world) }
	}
	if len(spec.Branches) > 0 || options.Mark != nil {
		r.pause(world, options)
	}
	return r, nil
}
