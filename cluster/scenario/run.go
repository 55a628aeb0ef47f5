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
	"github.com/watchsim/watchsim/sim/simnet"
)

// Options are about a run but do not change it.
type Options struct {
	// Record keeps the tape. RecordInto is memory for it that others can look at while
	// the run goes on, nil for none.
	Record     bool
	RecordInto []byte
	// Tape is followed instead of the seed's schedule, if it is not nil. A reduced
	// run always follows one, which leaves out the plain choices at its end.
	Tape []byte
	// BreakAt, Trace and TraceRecords are those of sim.Config.
	BreakAt      uint64
	Trace        bool
	TraceRecords int
	// Until ends the run at the last instant before or at this time since the world
	// began, with all goroutines as they are then; 0 for the orderly end.
	Until time.Duration
	// Stop is that of sim.Config.
	Stop bool
	// Begun is called once the run has begun, while its world still stands; nil for
	// nobody.
	Begun func(*sim.World)
	// Mark says where the run pauses after the branches of its spec, by number, and is
	// asked when it has come to the one before; nil for nowhere. AtMark is called at each,
	// outside of the simulation.
	Mark   func(world *sim.World, number int) (at sim.Mark, any bool)
	AtMark func(world *sim.World, run *Run, number int)
	// Closed is called, outside of the simulation, where the window of a run that
	// explores has closed; nil for nobody.
	Closed func(*sim.World)
}

// Run is what one run left behind.
type Run struct {
	Spec   Spec
	Plan   faults.Plan
	Result *sim.Result
	// Schedule is how unkind the scheduler was.
	Schedule sim.Schedule
	History  *model.History
	Faults   faults.Report
	// Began is the time since the world began at which the run's own clock, which the
	// history is told by, stood at zero.
	Began time.Duration
	// Leaked is how many goroutines API servers left behind at orderly stops.
	Leaked      int
	compactions map[int64]int64 // when each was asked for, by revision
	closed      func()          // called where the window has closed

	// What lives in the world, nil until the clients have begun.
	cluster *cluster.Cluster
	clients *workload.Workload
	engine  *faults.Engine
	planned int // faults, those of branches included
	// Parts are the steps that the clients took.
	Parts []workload.Part

	// Problems are what went wrong with the run itself; it is inconclusive then.
	Problems []error
	// found is what the oracle found, once the run has been judged.
	found linearizability.Verdict
	// Unreadable says why there is no truth to judge the history by, if there is none.
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

// config is what the world follows once the run has begun.
func (r *Run) config(options Options) sim.Config {
	limits := r.Spec.limits()
	if options.Until > 0 {
		limits.Simulated = min(limits.Simulated, options.Until)
	}
	return sim.Config{
		Source: r.Spec.source(options.Tape), Limits: limits, Schedule: r.Schedule, Explore: r.Spec.Explore.steering(),
		Record: options.Record, RecordInto: options.RecordInto, Stop: options.Stop, BreakAt: options.BreakAt,
		Trace: options.Trace, TraceRecords: options.TraceRecords,
		Network: network(r.Spec.latency()),
	}
}

func network(latency simnet.Latency) simnet.Config {
	return simnet.Config{Default: simnet.Link{Latency: latency}, RetransmitMax: maxRetransmit}
}

const (
	// bookmarkPeriod is the cacher's own.
	bookmarkPeriod = time.Minute
	// progressNotify is what Kubernetes recommends for etcd.
	progressNotify = 5 * time.Second
	// censusPeriod is how often it is counted what API servers hold.
	censusPeriod = 5 * time.Second
	// leaveGrace is how long after the clients have left nothing of theirs may be
	// left. The network delivers the ends of their connections in far less, but a
	// read that waits for Kubernetes' cacher to be fresh leaves a goroutine behind
	// that sleeps out the 3 s of its blockTimeout (watchCache.waitUntilFreshLocked).
	leaveGrace = 5 * time.Second
	// maxRetransmit is how long after a partition has healed its connections
	// may stay silent. Linux allows two minutes, which is longer than a run.
	maxRetransmit = 3 * time.Second
)

// latency is what the network adds to everything sent, drawn for each run.
func (s Spec) latency() simnet.Latency {
	random := sim.Stream(s.Seed, "latency")
	least := time.Duration(random.IntN(1000)) * time.Microsecond
	return simnet.Latency{
		Min: least, Max: 2 * least,
		TailProbability: []float64{0, 0.01, 0.05}[random.IntN(3)], Tail: 200 * time.Millisecond,
	}
}

// eventBytes is the size of a watch event on the wire, drawn for each run: large
// ones let a client that does not read be felt sooner.
func (s Spec) eventBytes() int {
	if s.EventBytes > 0 {
		return s.EventBytes
	}
	return []int{512, 4 << 10, 32 << 10}[sim.Stream(s.Seed, "event size").IntN(3)]
}

// live is the life of the run from a cluster that is up to its orderly end.
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
	r.Spec.Explore.watch(world, began, r.closed)
	clients.Start()
	r.clients, r.cluster = clients, cluster
	r.engine, r.planned = faults.NewEngine(r.Plan, cluster.Surface(clients), began), len(r.Plan)
	report, err := r.engine.Run(context.Background())
	r.Faults, r.History.Faults = report, report.Fired
	r.problem(err)

	time.Sleep(time.Until(began.Add(config.Active())))
	// A goroutine that stalls for seconds is as much of a fault as a network that does.
	world.Calm()
	r.History.Healed = int64(time.Since(began))
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

// readTruth reads what etcd committed, once nothing runs any more.
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
