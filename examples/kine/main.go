// Command kine runs kine over SQLite, k3s's default, in place of etcd, below real API servers and
// Kubernetes' own watch cache: `go run . --seed 1`, `go run . --seeds 1-20`.
package main

import (
	"io"

	"github.com/sirupsen/logrus"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/simrun"
)

func main() {
	logrus.SetOutput(io.Discard)
	simrun.Main(simrun.Target{Name: "kine", Summary: "kine over SQLite", Store: &etcd.Store{Start: start, Committed: committed}})
}
