package controlplane

import (
	"fmt"

	"github.com/watchsim/watchsim/simtest"
)

// KubeAPIServer makes the API servers of a test kube-apiservers.
const KubeAPIServer simtest.Cache = "kube-apiserver"

// Plane says what a control plane consists of besides its API servers and etcd.
type Plane struct {
	// Managers and Schedulers are how many there are, of which one of each leads.
	Managers, Schedulers int
	// Nodes is how many nodes there are.
	Nodes int
	// Workload is how long what runs in pods takes.
	Workload Workload
}

// Start starts a control plane in a simulated cluster, and returns its nodes.
func Start(c *simtest.Cluster, plane Plane) (nodes []*Node) {
	for i := range plane.Managers {
		c.Go(fmt.Sprintf("manager-%d", i), ControllerManager)
	}
	for i := range plane.Schedulers {
		c.Go(fmt.Sprintf("scheduler-%d", i), Scheduler)
	}
	for i := range plane.Nodes {
		node := NewNode(fmt.Sprintf("node-%d", i), plane.Workload)
		nodes = append(nodes, node)
		c.Go(node.name, Kubelet(node))
	}
	return nodes
}
