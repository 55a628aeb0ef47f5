package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/watchsim/watchsim/cluster"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/workload"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
)

// Options configure a run without changing its outcome.
type Options struct {
	// Config says what is recorded, and where the run ends early. The spec decides the rest.
	sim.Config
	// Tape replaces the seed's schedule if it is not nil. A reduced run always follows
	// a tape, without the default decisions at its end.
	Tape []byte
	// Until ends the run at the last instant not later than this time since the start
	// of the world and leaves all goroutines as they are; 0 for an orderly end.
	Until time.Duration
	// Begun is called once the run has begun, while its world is still paused; it may be
	// nil.
	Begun func(*sim.World)
	// Mark returns, by number, where the run pauses after the branches of its spec; it
	// is called when the run has reached the previous mark, and may be nil. AtMark is
	// called at each mark, outside the simulation.
	Mark   func(world *sim.World, number int) (at sim.Mark, any bool)
	AtMark func(world *sim.World, run *Run, number int)
	// Closed is called, outside the simulation, when the window of an exploring run has
	// closed; it may be nil.
	Closed func(*sim.World)
}

// Run is the result of one run.
type Run struct {
	Spec   Spec
	Plan   faults.Plan
	Result *sim.Result
	// Schedule says how much the scheduler deviates from the default.
	Schedule sim.Schedule
	History  *model.History
	Faults   faults.Report
	// Began is the time from the start of the world to time zero of the history.
	Began time.Duration
	// Leaked is how many goroutines API servers left behind after orderly stops.
	Leaked      int
	compactions map[int64]int64 // when each was requested, by revision
	closed      func()          // called when the window has closed

	// The parts of the world, nil until the clients have started.
	cluster *cluster.Cluster
	clients *workload.Workload
	engine  *faults.Engine
	planned int // faults, including those of branches
	// Parts are the steps that the clients took.
	Parts []workload.Part

	// Waiting are the calls into the code under test that had not returned at the end.
	Waiting []cluster.Call
	// Problems are errors of the run itself; they make it inconclusive.
	Problems []error
	// found is the oracle's verdict, once the run has been judged.
	found linearizability.Verdict
	// Unreadable says why etcd's logs could not be read; nil if they could.
	Unreadable error
}

// newRun prepares a run of a spec.
func newRun(spec Spec) (*Run, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	plan, err := spec.plan()
	if err != nil {
		return nil, err
	}
	return &Run{Spec: spec, Plan: plan, Schedule: spec.schedule(), History: &model.History{}}, nil
}

// config returns the world's configuration from the start of the run.
func (r *Run) config(options Options) sim.Config {
	config := options.Config
	config.Source, config.Schedule = r.Spec.source(options.Tape), r.Schedule
	if r.Spec.Explore != nil {
		config.Explore = &r.Spec.Explore.Explore
	}
	config.Network = cluster.Network(cluster.LatencyOf(r.Spec.Seed))
	config.Limits = r.Spec.Limits()
	if options.Until > 0 {
		config.Limits.Simulated = min(config.Limits.Simulated, options.Until)
	}
	return config
}

const (
	// bookmarkPeriod is the cacher's default.
	bookmarkPeriod = time.Minute
	// censusPeriod is the interval at which the watches of API servers are counted.
	censusPeriod = 5 * time.Second
	// spacePeriod is the interval of checks for etcd's space.
	spacePeriod = 2 * time.Second
	// leaveGrace is how long watches and goroutines may remain after the clients have left. The
	// network delivers the ends of connections much faster, except for what a read may leave behind
	// (readGrace of package cluster).
	leaveGrace = 5 * time.Second
)

// eventBytes returns the size of a watch event on the wire, drawn for each run. With
// large events, a client that does not read causes backpressure sooner.
func (s Spec) eventBytes() int {
	if s.EventBytes > 0 {
		return s.EventBytes
	}
	return []int{512, 4 << 10, 32 << 10}[sim.Stream(s.Seed, "event size").IntN(3)]
}

// live runs the cluster, once it is up, to its orderly end.
func (r *Run) live(world *sim.World, cluster *cluster.Cluster, made target.Target) {
	began := time.Now()
	r.Began = world.Now()
	processes := map[string]*sim.Process{}
	config := r.Spec.workload()
	clients, err := workload.New(config, workload.Environment{
		Began:   began,
		Servers: r.Spec.topology().Servers,
		Dial:    func(_, server string) target.API { return cluster.Dial(server) },
		Rand:    world.Rand,
		Go: func(client string, f func()) {
			process := processes[client]
			if process == nil {
				process = world.Process(client)
				processes[client] = process
			}
			process.Go(f)
		},
		NewInformer: made.NewInformer,
	})
	if err != nil {
		r.problem(err)
		return
	}
	serving, clientsLeft := context.WithCancel(context.Background())
	defer clientsLeft()
	go cluster.Count(serving, model.Serving, censusPeriod)
	if r.Spec.Neighbour > 0 {
		go cluster.Neighbour(serving, r.Spec.Neighbour)
	}
	if r.Spec.Setup.Quota > 0 {
		go cluster.MakeSpace(serving, spacePeriod)
	}
	r.Spec.Explore.watch(world, began, r.closed)
	clients.Start()
	r.clients, r.cluster = clients, cluster
	r.engine, r.planned = faults.NewEngine(r.Plan, cluster.Surface(clients, nil), began), len(r.Plan)
	report, err := r.engine.Run(context.Background())
	r.Faults, r.History.Faults = report, report.Fired
	r.problem(err)

	time.Sleep(time.Until(began.Add(config.Active())))
	// A goroutine stalled for seconds is as much a fault as a network that delays
	// messages.
	world.Calm()
	r.History.Healed = int64(time.Since(began))
	r.History.Steady = r.Schedule.StallOneIn == 0 && r.Schedule.FocusOneIn == 0 && !r.Spec.steered()
	r.problem(clients.Heal())
	time.Sleep(config.Quiet)
	clients.Converge()
	r.problem(clients.Stop())
	ended := time.Now()
	r.History.End = int64(ended.Sub(began))
	clients.Fill(r.History)
	r.Parts = clients.Parts()

	clientsLeft()
	time.Sleep(leaveGrace)
	if r.Spec.Setup.Quota > 0 {
		r.History.Faults = append(r.History.Faults, cluster.Filled(began)...)
	}
	cluster.CountOnce(model.Left)
	for _, server := range cluster.Servers() {
		r.problem(server.Stop())
		for _, leaked := range server.Leaks() {
			r.Leaked += leaked
		}
	}
	r.compactions = cluster.Compactions(began)
	r.History.Censuses = cluster.Censuses(began)
	r.History.Leaders, r.History.Windows = cluster.Standing(began, ended)
}

// readTruth reads what etcd committed, after everything has stopped.
func (r *Run) readTruth(cluster *cluster.Cluster) error {
	truth, err := cluster.Truth()
	if err != nil {
		return fmt.Errorf("cannot read the truth from etcd's logs: %w", err)
	}
	for i, compaction := range truth.Compactions {
		if at, known := r.compactions[compaction.RV]; known {
			truth.Compactions[i].Time = at
		}
	}
	r.History.Truth = truth
	return nil
}

func (r *Run) problem(err error) {
	if err != nil {
		r.Problems = append(r.Problems, err)
	}
}
