package simtest

import (
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/model"
)

// quota is how large etcd's databases may become, in bytes.
const quota = 64 << 20

// booted is a cluster that runs in a world. Only a binary that simulates has one: the binary
// that `go test` builds need not compile etcd and API servers.
type booted interface {
	// Members and Servers are the names of the etcd members and of the API servers.
	Members() []string
	Servers() []string
	// URL is where clients find an API server.
	URL(server string) string
	// Authority is who has issued the certificates of the API servers, in PEM, and whom they are for.
	Authority() (pem []byte, name string)
	// Encryption is how the API servers encrypt what they store, nil if they do not.
	Encryption() encryption
	// Follow has the cluster follow another seed.
	Follow(seed uint64)
	// Surface is what faults act on, with the programs of the cluster.
	Surface(programs *Cluster) faults.Surface
	// Full reports whether etcd has used up its quota.
	Full() bool
	// Committed reads what etcd has committed from its logs. An object has its key as its
	// name, and what is stored as its value. It must be called outside of the simulation.
	Committed() (model.Truth, error)
}
