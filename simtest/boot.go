//go:build watchsim

package simtest

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/watchsim/watchsim/cluster"
	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver"
	"github.com/watchsim/watchsim/cluster/target/cacher"
	"github.com/watchsim/watchsim/cluster/target/httpserver"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/simnet"
)

// simulates reports whether this binary has a cluster to boot.
const simulates = true

// bootSeed is the seed with which every cluster boots, on a calm schedule.
const bootSeed = 1

// bootLatency is the network latency during the boot.
var bootLatency = simnet.Latency{Min: 200 * time.Microsecond, Max: 400 * time.Microsecond}

// progressNotify is the interval that Kubernetes recommends for etcd's progress notifications.
const progressNotify = 5 * time.Second

// bootWorld is the configuration of the world while the cluster boots.
func bootWorld() sim.Config {
	return sim.Config{Source: sim.FromSeed(bootSeed), Network: cluster.Network(bootLatency)}
}

// seedWorld is the configuration of the world for the run of a seed. patience is added to the
// simulated time that a run may take.
func seedWorld(seed uint64, patience time.Duration) sim.Config {
	limits := sim.DefaultLimits
	limits.Simulated += patience
	limits.Decisions *= uint64(limits.Simulated / (5 * time.Minute))
	return sim.Config{Limits: limits, Source: sim.FromSeed(seed), Schedule: seedSchedule(seed), Network: cluster.Network(cluster.LatencyOf(seed))}
}

// seedSchedule draws how often goroutines are stalled in the run of a seed, for how long, and whether anywhere or only at a few
// places in the code. A request to an API server involves many goroutines: if each stalls now and then, it takes seconds, and a
// run gets little done. So seeds differ by orders of magnitude: some bugs need many operations, others a rare interleaving.
func seedSchedule(seed uint64) sim.Schedule {
	random := sim.Stream(seed, "intensity")
	schedule := sim.DefaultSchedule
	schedule.YieldEvery = []uint32{20, 60, 200, 600}[random.IntN(4)]
	schedule.StallOneIn = []uint32{0, 40, 400, 4000}[random.IntN(4)]
	schedule.StallMax = []time.Duration{50 * time.Millisecond, 500 * time.Millisecond, 3 * time.Second}[random.IntN(3)]
	schedule.FocusOneIn = []uint32{0, 0, 200, 1000}[random.IntN(4)]
	return schedule
}

// makers make the API servers for each Cache.
var makers = map[Cache]func() target.Servers{
	Kubernetes: httpserver.NewKubernetes,
	Watchsim:   func() target.Servers { return cacher.NewWeb(httpserver.Options{}) },
}

// Register adds an API server of your own, for Config.Cache. The servers listen at port 6443 of
// their hosts and serve HTTPS. Call Register from an init function, in a file with the build tag
// watchsim, which only the binary that simulates has.
func Register(cache Cache, servers func() target.Servers) { makers[cache] = servers }

// boot starts the cluster of a configuration. exited is called when an API server exits by itself.
func boot(world *sim.World, config Config, log io.Writer, exited func(server string, code int)) (booted, error) {
	servers, known := makers[cmp.Or(config.Cache, Kubernetes)]
	if !known {
		return nil, fmt.Errorf("expected Config.Cache to be one of %q, found %q", slices.Sorted(maps.Keys(makers)), config.Cache)
	}
	one := live{}
	target := servers()
	if encrypts, can := target.(Encrypts); can && config.KMS {
		one.encryption = encrypts.Encryption()
		one.encryption.Offer()
	}
	apiserver.LogTo(log)
	var err error
	one.cluster, err = cluster.Start(world, cluster.Config{
		Members: config.Members, Servers: config.Servers, Target: target,
		Latency: bootLatency, ProgressNotify: progressNotify, Etcd: etcd.Tuning{QuotaBytes: quota}, Exited: exited,
	})
	return one, err
}

// Encrypts is implemented by API servers that encrypt what they store with the keys of a key management service.
type Encrypts interface{ Encryption() *httpserver.Encryption }

// live implements booted.
type live struct {
	cluster    *cluster.Cluster
	encryption *httpserver.Encryption
}

func (l live) Members() []string        { return cluster.MemberNames(len(l.cluster.Members())) }
func (l live) Servers() []string        { return cluster.ServerNames(len(l.cluster.Servers())) }
func (l live) URL(server string) string { return httpserver.URL(server) }
func (l live) Authority() (pem []byte, name string) {
	return l.cluster.Authority(), target.CertificateName
}
func (l live) Encryption() encryption {
	if l.encryption == nil {
		return nil
	}
	return l.encryption
}
func (l live) Follow(seed uint64) { l.cluster.Follow(cluster.LatencyOf(seed), 0) }

func (l live) Surface(programs *Cluster) faults.Surface { return l.cluster.Surface(nil, programs) }

func (l live) Full() bool { return l.cluster.Full() }

func (l live) Committed() (model.Truth, error) { return l.cluster.Truth() }
