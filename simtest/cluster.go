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

// Cache is what serves the lists and watches of the API servers.
type Cache string

// The caches.
const (
	Kubernetes Cache = "kubernetes" // the watch cache of k8s.io/apiserver
	Watchsim   Cache = "watchsim"   // the one of this project
)

// Config says what the cluster of a test consists of. The zero value is one API server with
// Kubernetes' cache over one etcd member.
type Config struct {
	// Members and Servers are how many etcd members and API servers there are; 0 is one.
	Members, Servers int
	// Cache is what serves lists and watches; Kubernetes if it is empty.
	Cache Cache
	// KMS says that the API servers can encrypt what they store, for which they ask a key management
	// service, so that it can fail. They begin by encrypting nothing; see [Cluster.EncryptAtRest].
	KMS bool
	// MaxPartition is how long partitions last at most, as far as there is time; 0 is eight seconds, which is less than most
	// leases.
	MaxPartition time.Duration
	// CRDs are the files or folders of YAML with definitions of custom resources.
	CRDs []string
	// Patience is how long Eventually waits, in simulated time; 0 is two minutes. A run may take ten
	// minutes besides.
	Patience time.Duration
	// Boot is what happens before every seed, once for all of them, with no faults and nothing held
	// up: each seed begins in a copy of what it leaves, with the programs that it has started and
	// with all variables. nil leaves an empty cluster.
	Boot func(t *T, c *Cluster)
	// Check is called after each run with what can be seen of it. An error fails the run. It
	// runs outside of the simulation; nil checks nothing.
	Check func(Seen) error
}

// Seen is what can be seen of a run that is over.
type Seen struct {
	// Committed is every change that etcd has committed since it was new, the key as the
	// object's name and what is stored as its value.
	Committed model.Truth
	// Histories are what clients have asked and were answered, by resources such as pods or
	// databases.example.com.
	Histories map[string]*model.History
	// Requests are the same requests one by one, by resources too and in the order in which they
	// were sent, also those that no history holds. Return is model.Pending where no answer came, and
	// when a watch was opened.
	Requests map[string][]*importer.Told
	// Epoch is when the times of histories and requests begin, which are nanoseconds: in nanoseconds since 1970 by the
	// clocks of the simulation before any fault has moved them.
	Epoch int64
	// Unjudged notes for the report what of a resource was not checked, and why.
	Unjudged func(resource, why string)
}

// Cluster is the cluster of one run. Its methods are for the function of the test.
type Cluster struct {
	world    *sim.World
	booted   booted
	settings Config
	job      job
	running  bool          // the seed's run has begun
	began    time.Duration // from the start of the world to that of the run

	t        *T
	ctx      context.Context
	programs []*program
	ended    chan life
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

// begin has the run of a seed begin here. The world stands still.
func (c *Cluster) begin(next job) {
	c.job, c.running = next, true
	c.world.Begin(seedWorld(next.Seed, c.settings.Patience))
	c.began = c.world.Progress().Now
	if len(c.programs) == 0 {
		c.world.Calm()
	} else {
		c.world.Disturb()
	}
	c.recorded.began, c.recorded.lines = c.began, nil
}

// Now is the simulated time since the run began.
func (c *Cluster) Now() time.Duration { return c.world.Now() - c.began }

func (c *Cluster) logf(format string, arguments ...any) {
	c.t.Logf("%v: %s", c.Now().Round(time.Millisecond), fmt.Sprintf(format, arguments...))
}

// testClient is the name of the process in which the function of a test runs.
const testClient = "test"

// setupClient is the name of the process that prepares the cluster.
const setupClient = "setup"

// Config is what the test itself uses to reach an API server; no fault gets in between but
// those of the server and of what is below.
func (c *Cluster) Config() *rest.Config { return c.config(testClient, c.booted.Servers()[:1]) }

// Client returns a client of the test itself, with that configuration.
func (c *Cluster) Client() *kubernetes.Clientset { return kubernetes.NewForConfigOrDie(c.Config()) }

// Go starts a program, and from the first one on the seed decides which goroutines
// are held up. The program runs on a machine of its own with the given name, which faults can cut
// off, slow down and crash. run gets the configuration of a client, and a context that is
// done at the end of the test. When it returns earlier or calls os.Exit, it is started again
// after 10 s, as a kubelet does. It must create everything it needs: variables of the test binary
// outlive a crash, as those of a process would not. Each of its connections reaches the next
// API server.
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

// Crash kills a program and starts it again at once.
func (c *Cluster) Crash(name string) {
	c.t.Helper()
	if err := c.CrashProgram(name); err != nil {
		c.t.Fatal(err)
	}
	if err := c.StartProgram(name); err != nil {
		c.t.Fatal(err)
	}
}

// CrashProgram kills a program, for a fault that starts it again.
func (c *Cluster) CrashProgram(name string) error {
	p, err := c.program(name)
	if err != nil {
		return err
	}
	return p.crash()
}

// StartProgram starts a program that is down, for a fault that has killed it.
func (c *Cluster) StartProgram(name string) error {
	p, err := c.program(name)
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

// Eventually waits until check returns nil, and fails the test with what it returned last
// if that takes too long. It ends the faults first, see Heal.
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
		time.Sleep(max(100*time.Millisecond, (c.Now()-began)/10)) // what lasts long is looked at less often
	}
}
