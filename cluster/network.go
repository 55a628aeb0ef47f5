package cluster

import (
	"time"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/simnet"
)

// maxRetransmit is how long the connections of a partition may stay silent after it
// has healed. Linux allows two minutes, which is longer than a run.
const maxRetransmit = 3 * time.Second

// Network configures the network of a world with a cluster in it.
func Network(latency simnet.Latency) simnet.Config {
	return simnet.Config{Default: simnet.Link{Latency: latency}, RetransmitMax: maxRetransmit, Patience: etcd.Patience}
}

// LatencyOf returns the latency of the network, drawn from a run's seed.
func LatencyOf(seed uint64) simnet.Latency {
	random := sim.Stream(seed, "latency")
	least := time.Duration(random.IntN(1000)) * time.Microsecond
	return simnet.Latency{
		Min: least, Max: 2 * least,
		TailProbability: []float64{0, 0.01, 0.05}[random.IntN(3)], Tail: 200 * time.Millisecond,
	}
}
