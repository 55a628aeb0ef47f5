package mutant

import "slices"

// The modules that mutants edit.
const (
	apiserver  = "k8s.io/apiserver"
	clientGo   = "k8s.io/client-go"
	etcdServer = "go.etcd.io/etcd/server/v3"
	etcdClient = "go.etcd.io/etcd/client/v3"
	etcdRaft   = "go.etcd.io/raft/v3"
	grpcGo     = "google.golang.org/grpc"
	watchsim   = "github.com/watchsim/watchsim"
)

// Modules lists the modules that mutants edit.
func Modules() []string {
	return slices.Clone([]string{apiserver, clientGo, etcdServer, etcdClient, etcdRaft, grpcGo, watchsim})
}
