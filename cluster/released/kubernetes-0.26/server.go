package kubernetes

import (
	"context"
	"reflect"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver/registry"
	"github.com/watchsim/watchsim/faults"
)

// compactInterval is how often kube-apiserver's storage compacts etcd by default.
const compactInterval = 5 * time.Minute

// server is one API server from the registry down. It implements target.Counter.
type server struct {
	*registry.Handler
	cacher *cacher.Cacher
	// upstream is between the cache and the etcd3 store.
	upstream *registry.Upstream

	stopping sync.Once
	stopped  chan struct{}
	release  []func() // in the order in which Stop calls them
}

// startServer wires what newETCD3Storage and StorageWithCacher of kube-apiserver 0.26 wire for one
// resource. The compactor shares the store's etcd client; in kube-apiserver it has its own.
func startServer(config target.ServerConfig) (*server, error) {
	connected, err := etcd.NewClient(config.Endpoints...)
	if err != nil {
		return nil, err
	}
	client := withoutEndpoints(connected)
	serving, stopServing := context.WithCancel(context.Background())
	etcd3.StartCompactor(serving, client, compactInterval)
	below := func() {
		stopServing()
		connected.Close()
	}
	injection := config.Injection
	if injection == nil {
		injection = &target.Injection{}
	}
	store := etcd3.New(client, registry.FaultyCodec{Codec: registry.PodCodec, Injection: injection}, registry.NewPod,
		registry.StoragePrefix, registry.PodResource,
		registry.FaultyTransformer{Transformer: identity.NewEncryptCheckTransformer(), Injection: injection},
		true, etcd3.NewDefaultLeaseManagerConfig())

	upstream := registry.NewUpstream(store, injection, config.Reached)
	cache, err := cacher.NewCacherFromConfig(registry.CacherConfig(upstream))
	if err != nil {
		below()
		return nil, err
	}
	stopped := make(chan struct{})
	return &server{
		Handler:  &registry.Handler{Storage: cache, Release: release, Stopped: stopped, TTL: injection.TTL.Load},
		cacher:   cache,
		upstream: upstream,
		stopped:  stopped,
		release:  []func(){cache.Stop, below},
	}, nil
}

// withoutEndpoints returns a client over another one's connections that names no endpoints. The
// compactor remembers process-wide which endpoints already have one: only one server of a run would
// compact, and none once it is killed.
func withoutEndpoints(connected *clientv3.Client) *clientv3.Client {
	client := clientv3.NewCtxClient(connected.Ctx())
	lockEndpoints(client)
	client.KV = etcd3.NewETCDLatencyTracker(connected.KV)
	client.Lease = connected.Lease
	client.Watcher = connected.Watcher
	client.Maintenance = connected.Maintenance
	return client
}

// lockEndpoints gives a client the lock for reading its endpoints. A client of etcd 3.5 that is
// made from a context has none.
func lockEndpoints(client *clientv3.Client) {
	lock := reflect.ValueOf(client).Elem().FieldByName("mu")
	if lock.IsValid() && lock.IsNil() {
		*(**sync.RWMutex)(lock.Addr().UnsafePointer()) = new(sync.RWMutex)
	}
}

func (s *server) Watchers() int { return countWatchers(s.cacher) }

func (s *server) BreakWatch(how faults.WatchEnd) { s.upstream.BreakWatches(how) }

func (s *server) Stop() {
	s.stopping.Do(func() {
		close(s.stopped)
		for _, release := range s.release {
			release()
		}
	})
}
