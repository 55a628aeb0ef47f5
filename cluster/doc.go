// Package cluster assembles what runs inside a world: etcd members, API servers
// around the cacher under test, and the connections of clients to them.
//
//   - cluster.go: the cluster as a whole, and the calls into the code under test.
//   - member.go: one etcd member through restarts and crashes.
//   - server.go: one API server through restarts and crashes.
//   - census.go: what API servers and etcd hold at a moment.
//   - standing.go: who led etcd and what caches held, from one change to the next.
//   - phase.go: what servers and their caches are at, coarsely.
//   - surface.go: what faults do to the cluster.
//   - points.go: where they wait for what API servers do.
//   - wire.go, serve.go, dial.go: the network, and how clients and API servers talk.
package cluster
