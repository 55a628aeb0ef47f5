// Command worker executes runs over etcd 3.5.12 for simrun, which builds and starts it.
package main

import (
	etcd35 "github.com/watchsim/watchsim/cluster/released/etcd-3.5"
	kubernetes "github.com/watchsim/watchsim/cluster/released/kubernetes-0.26"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/search/swarm"
)

func main() {
	swarm.WorkReleased("etcd-3.5", func(name string) target.Target { return kubernetes.New(name, etcd35.Release{}) })
}
