// Package cluster assembles what runs inside a world: etcd members, API servers around the cacher
// under test, and clients' connections to them.
//
//   - cluster.go: the cluster as a whole, and the calls into the code under test.
//   - member.go: one etcd member through restarts and crashes.
//   - server.go: one API server through restarts and crashes.
//   - census.go: how many watches API servers and etcd hold.
//   - standing.go: who led etcd and what caches held over time.
//   - phase.go: a coarse state of servers and their caches.
//   - surface.go: the cluster as faults act on it.
//   - points.go: points at which faults wait for operations.
//   - wire.go, serve.go, dial.go: the network, and the protocol between clients and API servers.
package cluster
