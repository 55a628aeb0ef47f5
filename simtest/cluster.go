package simtest

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/traces/importer"
)

// Cache is the watch cache that serves the lists and watches of the API servers.
type Cache string

// The caches.
const (
	Kubernetes Cache = "kubernetes" // the one of k8s.io/apiserver
	Watchsim   Cache = "watchsim"   // the one of this project
)

// Config describes the cluster of a test. The zero value is one API server with Kubernetes' cache
// and one etcd member.
type Config struct {
	// Members and Servers are the numbers of etcd members and API servers; 0 means 1.
	Members, Servers int
	// Cache serves lists and watches; Kubernetes if it is empty.
	Cache Cache
	// KMS has the API servers use a key management service for encryption at rest, which faults can
	// then fail. Nothing is encrypted at first; see [Cluster.EncryptAtRest].
	KMS bool
	// MaxPartition is the longest duration of a partition, as far as there is time; 0 means 8 s, which is less than most
	// leases.
	MaxPartition time.Duration
	// CRDs are YAML files, or folders of them, with CustomResourceDefinitions.
	CRDs []string
	// Patience is how long Eventually waits, in simulated time; 0 means 2 min. The rest of a run may
	// take another 10 min.
	Patience time.Duration
	// Boot runs once before all seeds, with no faults and no stalls. Each seed begins in a copy of
	// the process that it leaves, with the programs that it started and the values of all
	// variables. nil leaves an empty cluster.
	Boot func(t *T, c *Cluster)
	// Check is called after each run with its recordings. An error fails the run. It runs outside
	// of the simulation; nil checks nothing.
	Check func(Seen) error
}

// Seen is what was recorded of a completed run.
type Seen struct {
	// Committed is every change that etcd has committed since it was created. An object's name is
	// its key, and its value is the stored one.
	Committed model.Truth
	// Histories are the requests and answers of clients, by resource, such as pods or
	// databases.example.com.
	Histories map[string]*model.History
	// Requests are the same requests one by one, by resource and in the order of sending, including
	// those that no history holds. Return is model.Pending if no answer came. For a watch, it is
	// when it was opened.
	Requests map[string][]*importer.Told
	// Endings are how programs ended by themselves, or when they were told to stop.
	Endings []Ending
	// Epoch is the origin of the times in histories and requests, which are in nanoseconds. It is in nanoseconds since
	// 1970, by the simulated clocks before any fault has moved them.
	Epoch int64
	// Unjudged notes in the report what was not checked of a resource, and why.
	Unjudged func(resource, why string)
}

// Cluster is the cluster of one run. Its methods are for the test function.
type Cluster struct {
	world    *sim.World
	booted   booted
	settings Config
	job      job
	running  bool          // the run of the seed has begun
	began    time.Duration // from the start of the world to that of the run

	t        *T
	ctx      context.Context
	programs []*program
	ended    chan life
	endings  []Ending
	plan     faults.Plan
	breaking context.CancelFunc // ends the faults, nil before they begin
	injected time.Duration      // when they began
	healed   chan struct{}
	fired    []model.Fault // in the time of the world
	problem  error
	recorded *recorded
	lives    map[string]int // of each client
}

func newCluster(world *sim.World, booted booted, config Config) *Cluster {
	return &Cluster{world: world, booted: booted, settings: config, ended: make(chan life), recorded: newRecorded(world, config.Check != nil), lives: map[string]int{}}
}

// begin starts the run of a seed. The world is paused.
func (c *Cluster) begin(next job) {
	c.job, c.running, c.endings = next, true, nil
	c.world.Begin(seedWorld(next.Seed, c.settings.Patience))
	c.began = c.world.Progress().Now
	if len(c.programs) == 0 {
		c.world.Calm()
	} else {
		c.world.Disturb()
	}
	c.recorded.began, c.recorded.lines = c.began, nil
}

// Now returns the simulated time since the run began.
func (c *Cluster) Now() time.Duration { return c.world.Now() - c.began }

func (c *Cluster) logf(format string, arguments ...any) {
	c.t.Logf("%v: %s", c.Now().Round(time.Millisecond), fmt.Sprintf(format, arguments...))
}

// testClient is the name of the process that runs the test function.
const testClient = "test"

// setupClient is the name of the process that prepares the cluster.
const setupClient = "setup"

// Config is the test's own client configuration. Faults do not act on its connections, only on the
// server and what is below it.
func (c *Cluster) Config() *rest.Config { return c.config(testClient, c.booted.Servers()[:1]) }

// Client returns a client with that configuration.
func (c *Cluster) Client() *kubernetes.Clientset { return kubernetes.NewForConfigOrDie(c.Config()) }

// Go starts a program on a machine of its own with the given name, which faults can cut
// off, slow down, stop and crash. From the first program on, the seed decides which goroutines
// are stalled. run gets a client configuration, and a context that is done when a fault stops the program, as
// SIGTERM does, and at the end of the test. It is killed if it has not returned after [GracePeriod]. If it returns earlier or calls os.Exit, it is restarted after 10 s, as a
// kubelet does. It must create everything it needs: variables of the test binary survive
// a crash, unlike those of a real process. Its connections go to the API servers in
// turn.
func (c *Cluster) Go(name string, run func(ctx context.Context, config *rest.Config) error) {
	c.t.Helper()
	for _, other := range c.programs {
		if other.name == name {
			c.t.Fatalf("expected a name that no program has, found %q twice", name)
		}
	}
	if len(c.programs) == 0 {
		go c.restartEnded()
		if c.running {
			c.world.Disturb()
		}
	}
	p := &program{cluster: c, name: name, number: len(c.programs), run: run}
	c.programs = append(c.programs, p)
	if err := p.start(); err != nil {
		c.t.Fatal(err)
	}
}

// Crash kills a program and restarts it at once.
func (c *Cluster) Crash(name string) {
	c.t.Helper()
	if err := c.CrashProgram(name); err != nil {
		c.t.Fatal(err)
	}
	if err := c.StartProgram(name); err != nil {
		c.t.Fatal(err)
	}
}

// CrashProgram kills a program, on behalf of a fault that restarts it later.
func (c *Cluster) CrashProgram(name string) error {
	p, err := c.program(name)
	if err != nil {
		return err
	}
	return p.crash()
}

// StopProgram tells a program to stop, as SIGTERM does: the context that its function got is done. It stays down until
// [Cluster.StartProgram], and is killed if it has not ended by then, or within [GracePeriod].
func (c *Cluster) StopProgram(name string) error {
	p, err := c.program(name)
	if err != nil {
		return err
	}
	return p.tellToStop()
}

// StartProgram starts a program that was killed or told to stop.
func (c *Cluster) StartProgram(name string) error {
	p, err := c.program(name)
	if err != nil {
		return err
	}
	if p.process != nil && p.stopped {
		c.logf("%s, which was told to stop, has not ended, and is killed", p.name)
		err = p.crash()
	}
	if err != nil || p.process != nil {
		return err
	}
	return p.start()
}

func (c *Cluster) program(name string) (*program, error) {
	var names []string
	for _, p := range c.programs {
		if p.name == name {
			return p, nil
		}
		names = append(names, p.name)
	}
	return nil, fmt.Errorf("expected the name of a program, one of %q, found %q", names, name)
}

// Eventually waits until check returns nil, and fails the test with the last error if that takes
// too long. It first ends the faults, as Heal does.
func (c *Cluster) Eventually(check func() error) {
	c.t.Helper()
	c.Heal()
	patience := c.settings.Patience
	if patience == 0 {
		patience = 2 * time.Minute
	}
	began := c.Now()
	for {
		err := check()
		if err == nil {
			return
		}
		if c.Now()-began > patience {
			c.t.Fatalf("still wrong %v after everything had healed: %v", patience, err)
		}
		time.Sleep(max(100*time.Millisecond, (c.Now()-began)/10)) // check less often as time passes
	}
}
