package simtest

import (
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/model"
)

// quota is the space quota of etcd's databases, in bytes.
const quota = 64 << 20

// booted is a cluster that runs in a world. Only a binary that simulates has one, so that the
// binary of `go test` need not compile etcd and API servers.
type booted interface {
	// Members and Servers are the names of the etcd members and of the API servers.
	Members() []string
	Servers() []string
	// URL is the address of an API server for clients.
	URL(server string) string
	// Authority is the CA certificate of the API servers, in PEM, and the host name in their certificates.
	Authority() (pem []byte, name string)
	// Encryption is the API servers' encryption at rest, nil if they have none.
	Encryption() encryption
	// Follow switches the cluster to another seed.
	Follow(seed uint64)
	// Surface is what faults act on, the programs included.
	Surface(programs *Cluster) faults.Surface
	// Full reports whether etcd has used up its quota.
	Full() bool
	// Committed reads from etcd's logs what it has committed. An object's name is its key, and its
	// value is the stored one. Call it outside of the simulation.
	Committed() (model.Truth, error)
}
