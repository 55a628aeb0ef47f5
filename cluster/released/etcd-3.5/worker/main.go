// Command worker works off runs over etcd 3.5.12 for simrun, which builds and starts it.
package main

import (
	etcd35 "github.com/watchsim/watchsim/cluster/released/etcd-3.5"
	kubernetes "github.com/watchsim/watchsim/cluster/released/kubernetes-0.26"
)

func main() { kubernetes.Work("etcd-3.5", etcd35.Release{}) }
