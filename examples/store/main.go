// Command store runs a store of your own in place of etcd, below real API servers and Kubernetes'
// own watch cache: `go run . --seed 1`, `go run . --seeds 1-20 --target hasty`.
package main

import (
	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/simrun"
)

func main() {
	simrun.Main(
		simrun.Target{Name: "store", Summary: "a store in memory with a log", Store: inEtcdsPlace(mistakes{})},
		simrun.Target{Name: "hasty", Summary: "reports progress before it has sent the events", Store: inEtcdsPlace(mistakes{hasty: true})},
		simrun.Target{Name: "lazy", Summary: "acknowledges writes before they are on the disk", Store: inEtcdsPlace(mistakes{lazy: true})},
	)
}

// mistakes are the bugs that can be switched on.
type mistakes struct{ hasty, lazy bool }

func inEtcdsPlace(mistakes mistakes) *etcd.Store {
	return &etcd.Store{
		Start: func(config etcd.StoreConfig) (etcd.Services, error) {
			s, err := open(config, mistakes)
			return etcd.Services{KV: s, Watch: s, Lease: s, Maintenance: s, Stop: s.stop}, err
		},
		Committed: committed,
	}
}
