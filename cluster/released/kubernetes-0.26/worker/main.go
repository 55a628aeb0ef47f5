// Command worker executes runs of Kubernetes 0.26 for simrun, which builds and starts it.
package main

import (
	"github.com/watchsim/watchsim/cluster/etcd/current"
	kubernetes "github.com/watchsim/watchsim/cluster/released/kubernetes-0.26"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/search/swarm"
)

func main() {
	swarm.WorkReleased("kubernetes-0.26", func(name string) target.Target { return kubernetes.New(name, current.Release{}) })
}
