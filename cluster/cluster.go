package cluster

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/simnet"
)

// Config describes a cluster.
type Config struct {
	// Members and Servers are the numbers of etcd members and API servers.
	Members, Servers int
	// Target makes the API servers.
	Target target.Servers
	// Latency is the latency of every link without faults.
	Latency simnet.Latency
	// EventBytes is the size on the wire of one watch event. It decides how many
	// events fit between the cacher and a client that does not read.
	EventBytes int
	// ProgressNotify is the interval of etcd's progress notifications for an idle watch.
	ProgressNotify time.Duration
	// Etcd changes settings of all members that runs seldom need.
	Etcd etcd.Tuning
	// Server configures all API servers. What differs between them, and what they get from the
	// cluster, is filled in when each starts.
	Server target.ServerConfig
	// Exited is called when an API server exits by itself, which is restarted after RestartDelay.
	// If it is nil, the exit ends the run.
	Exited func(server string, code int)
	// Logger receives the members' logs; nil discards them.
	Logger *zap.Logger
}

// maxBoot bounds how long the members may take to come up.
const maxBoot = 60 * time.Second

// Cluster is a running cluster. Its methods are for goroutines of the world's
// first process, those that inject faults among them.
type Cluster struct {
	world   *sim.World
	config  Config
	members []*Member
	servers []*Server
	mail    *mailbox
	points  *points
	watches *etcd.WatchInjection

	valid, expired target.Certificate // of the API servers, once one has requested them

	standing standing
	calls    []*Call // in progress, into the code under test; changed within sim.Aside

	mu          sync.Mutex
	compactions map[int64]time.Time // when each was first requested, by revision
	censuses    []counted           // in order of time
	filled      [][2]time.Time      // in order of time: when members may have been full
	compactors  map[string]func()   // how to stop the running ones, by member
}

// Start boots the members, then the API servers.
func Start(world *sim.World, config Config) (*Cluster, error) {
	c := &Cluster{
		world: world, config: config, mail: newMailbox(), points: &points{}, watches: &etcd.WatchInjection{},
		compactions: map[int64]time.Time{}, compactors: map[string]func(){},
	}
	for i, name := range MemberNames(config.Members) {
		c.members = append(c.members, &Member{cluster: c, name: name, chance: world.Rand("disk of " + name)})
		world.Disk(name).OnSync(func() {
			c.points.pass(context.Background(), c.members[i].name, faults.PointSync)
			c.members[i].awaitDisk()
		})
	}
	for _, name := range ServerNames(config.Servers) {
		c.servers = append(c.servers, &Server{cluster: c, name: name})
	}
	c.standing.windows = make([]record[model.CacheWindow], len(c.servers))
	world.Network().Observe(c.look)
	world.OnExit(func(process *sim.Process, code int) bool {
		for _, server := range c.servers {
			if server.stops(process) {
				runtime.Goexit() // API servers that are stopped while starting call exit
			}
			if config.Exited != nil && server.runsIn(process) {
				config.Exited(server.name, code)
				world.Process(keeper).Go(func() { server.revive(process) })
				return true
			}
		}
		return false
	})
	for _, member := range c.members {
		if err := member.Start(); err != nil {
			return nil, err
		}
	}
	for _, member := range c.members {
		if err := member.await(); err != nil {
			return nil, err
		}
	}
	for _, server := range c.servers {
		if err := server.Start(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Follow sets, while the world is paused, what differs between runs: the latency, the size
// of events, and the random streams.
func (c *Cluster) Follow(latency simnet.Latency, eventBytes int) {
	c.config.Latency, c.config.EventBytes = latency, eventBytes
	for _, member := range c.members {
		member.chance = c.world.Rand("disk of " + member.name)
	}
}

// Network is the network that connects everything.
func (c *Cluster) Network() *simnet.Network { return c.world.Network() }

// Members are the etcd members, in a fixed order.
func (c *Cluster) Members() []*Member { return c.members }

// Servers are the API servers, in a fixed order.
func (c *Cluster) Servers() []*Server { return c.servers }

// MemberNames names the etcd members.
func MemberNames(count int) []string { return names("etcd", count) }

// ServerNames names the API servers.
func ServerNames(count int) []string { return names("apiserver", count) }

func names(kind string, count int) []string {
	list := make([]string, count)
	for i := range list {
		list[i] = fmt.Sprintf("%s-%d", kind, i)
	}
	return list
}

// endpoints are the members' client URLs.
func (c *Cluster) endpoints() []string {
	var urls []string
	for _, name := range MemberNames(c.config.Members) {
		urls = append(urls, etcd.ClientURL(name))
	}
	return urls
}

// Leader returns the leader, nil if there is none.
func (c *Cluster) Leader() *Member {
	for _, member := range c.members {
		leads := false
		member.do(func(m etcd.Running) { _, leads = m.Leads() })
		if leads {
			return member
		}
	}
	return nil
}

// ErrNoMember means that no member could serve the request.
var ErrNoMember = errors.New("no etcd member is up and leads")

// Revision returns the newest revision that any running member has applied.
func (c *Cluster) Revision() int64 {
	var newest int64
	for _, member := range c.members {
		member.do(func(m etcd.Running) { newest = max(newest, m.Revision()) })
	}
	return newest
}

// Compact discards history below revision, through the leader.
func (c *Cluster) Compact(ctx context.Context, revision int64) error {
	leader := c.Leader()
	if leader == nil {
		return ErrNoMember
	}
	c.asked(revision)
	err := ErrNoMember
	leader.do(func(m etcd.Running) { err = m.Compact(ctx, revision) })
	return err
}

// asked records that a compaction was requested.
func (c *Cluster) asked(revision int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.compactions[revision].IsZero() {
		c.compactions[revision] = time.Now()
	}
}

// Compactions returns when each compaction was first requested, in nanoseconds since began,
// by its revision.
func (c *Cluster) Compactions(began time.Time) map[int64]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	times := make(map[int64]int64, len(c.compactions))
	for revision, at := range c.compactions {
		times[revision] = int64(at.Sub(began))
	}
	return times
}

// store is what runs in etcd's place; nil for etcd itself.
func (c *Cluster) store() *etcd.Store {
	if stored, ok := c.config.Target.(target.Stored); ok {
		return stored.Store()
	}
	return nil
}

// Truth reads what the cluster committed from the members' logs. It must be called outside
// of the simulation, when the run is over.
func (c *Cluster) Truth() (model.Truth, error) {
	if store := c.store(); store != nil {
		return store.Truth(c.members[0].dir(), c.config.Target.Prefix(), c.config.Target.Decode)
	}
	return etcd.Truth(c.config.Target.Etcd(), c.eras(), c.config.Target.Prefix(), c.config.Target.Decode)
}

// eras returns the cluster's eras. Only a single member is ever restored.
func (c *Cluster) eras() []etcd.Era {
	var eras []etcd.Era
	var last etcd.Era
	for _, member := range c.members {
		for _, restored := range member.restores {
			last.Applied = restored.Applied
			last.Dirs = []string{member.folder(restored.from)}
			eras = append(eras, last)
			last = etcd.Era{Revision: restored.Revision}
		}
	}
	for _, member := range c.members {
		last.Dirs = append(last.Dirs, member.dir())
	}
	return append(eras, last)
}

// Call is a call into the code under test without a timeout, such as stopping an API server.
type Call struct {
	// What says what was requested; Process is the name of the process that does it.
	What, Process string
	// Since is when it began, since the start of the world.
	Since time.Duration
}

// call runs f in a process, and reports false if the process crashed before f was done.
// Until then, Waiting returns the call.
func (c *Cluster) call(what string, process *sim.Process, f func()) (done bool) {
	call := &Call{What: what, Process: process.Name(), Since: c.world.Now()}
	sim.Aside(func() { c.calls = append(c.calls, call) })
	done = process.Do(f)
	sim.Aside(func() { c.calls = slices.DeleteFunc(c.calls, func(other *Call) bool { return other == call }) })
	return done
}

// Waiting returns the calls that have not returned, in the order in which they began. It does not
// block, so it can be called once a run has ended early.
func (c *Cluster) Waiting() []Call {
	calls := make([]Call, len(c.calls))
	for i, call := range c.calls {
		calls[i] = *call
	}
	return calls
}
