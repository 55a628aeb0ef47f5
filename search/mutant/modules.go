package mutant

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
