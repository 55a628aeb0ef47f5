// Command worker executes runs of Kubernetes 0.36 over etcd 3.6 for simrun, which builds and starts it.
package main

import (
	etcd36 "github.com/watchsim/watchsim/cluster/released/kubernetes-0.36"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/kubernetes"
	"github.com/watchsim/watchsim/search/swarm"
)

func main() {
	swarm.WorkReleased("kubernetes-0.36", func(name string) target.Target { return kubernetes.New(name, etcd36.Release{}) })
}
