package apiserver

import (
	"cmp"
	"sync"
	"time"

	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	"k8s.io/utils/clock"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver/registry"
	"github.com/watchsim/watchsim/cluster/target/apiserver/translate"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/model"
)

// The defaults of kube-apiserver's storage: the interval of etcd compactions, and the
// minimum time for which the cache keeps events.
const (
	compactInterval     = 5 * time.Minute
	eventsHistoryWindow = 75 * time.Second
)

// server is one API server from the registry down.
type server struct {
	*registry.Handler
	cache Cache
	// upstream is between the cache and the etcd3 store.
	upstream upstreamStorage

	stopping sync.Once
	stopped  chan struct{}
	release  []func() // in the order in which Stop calls them
}

// startServer wires what kube-apiserver's storage factory and storage decorator wire
// for one resource. The compactor shares the store's etcd client; in kube-apiserver it
// has its own.
func startServer(config target.ServerConfig, newCache NewCache) (*server, error) {
	if err := setGates(config.Tuning.Gates); err != nil {
		return nil, err
	}
	connected, err := etcd.NewClient(config.Endpoints...)
	if err != nil {
		return nil, err
	}
	connected.KV = etcd3.NewETCDLatencyTracker(connected.KV)
	client := &kubernetes.Client{Client: connected}
	client.Kubernetes = client
	compactor := etcd3.NewCompactor(client.Client, cmp.Or(config.Tuning.CompactInterval, compactInterval), clock.RealClock{}, nil)

	injection := config.Injection
	if injection == nil {
		injection = &target.Injection{}
	}
	versioner, codec := storage.APIObjectVersioner{}, translate.FaultyCodec{Codec: translate.PodCodec, Injection: injection}
	store, err := etcd3.New(client, compactor, codec, translate.NewPod, translate.NewPodList, translate.StoragePrefix, translate.ResourcePrefix,
		translate.PodResource, translate.FaultyTransformer{Transformer: identity.NewEncryptCheckTransformer(), Injection: injection}, etcd3.NewDefaultLeaseManagerConfig(),
		etcd3.NewDefaultDecoder(codec, versioner), versioner)
	if err != nil {
		compactor.Stop()
		connected.Close()
		return nil, err
	}
	below := func() {
		compactor.Stop()
		store.Close()
		connected.Close()
	}

	upstream := newUpstreamStorage(store, injection, config.Reached)
	cache, err := newCache(cacher.Config{
		Storage:             upstream,
		Versioner:           versioner,
		GroupResource:       translate.PodResource,
		EventsHistoryWindow: cmp.Or(config.Tuning.HistoryWindow, eventsHistoryWindow),
		ResourcePrefix:      translate.ResourcePrefix,
		KeyFunc:             translate.PodKey,
		GetAttrsFunc:        translate.PodAttributes,
		IndexerFuncs:        translate.PodTriggers,
		Indexers:            &translate.PodIndexers,
		NewFunc:             translate.NewPod,
		NewListFunc:         translate.NewPodList,
		Codec:               translate.PodCodec,
	}, config)
	if err != nil {
		below()
		return nil, err
	}
	stopped := make(chan struct{})
	return &server{
		Handler:  &registry.Handler{Storage: cache.Storage, Release: release, Stopped: stopped, TTL: injection.TTL.Load, Padding: config.ObjectBytes, InPlace: config.Tuning.InPlace},
		cache:    cache,
		upstream: upstream,
		stopped:  stopped,
		release:  []func(){cache.Stop, below},
	}, nil
}

// Watchers implements target.Counter.
func (s *server) Watchers() int {
	if s.cache.Watchers == nil {
		return model.Uncounted
	}
	return s.cache.Watchers()
}

// BreakWatch implements target.Server.
func (s *server) BreakWatch(how faults.WatchEnd) { s.upstream.BreakWatches(how) }

// Stop implements target.Server.
func (s *server) Stop() {
	s.stopping.Do(func() {
		close(s.stopped)
		for _, release := range s.release {
			release()
		}
	})
}
