package apiserver

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/utils/clock"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver/registry"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/model"
)

// The defaults of kube-apiserver's storage: the interval of etcd compactions, and the
// minimum time for which the cache keeps events.
const (
	compactInterval     = 5 * time.Minute
	eventsHistoryWindow = 75 * time.Second
)

// drainDelay is how long requests that have just begun on an old storage have until they are
// counted, as in the handler of custom resources; drainTimeout is how long it waits for them to
// end.
const (
	drainDelay   = time.Second
	drainTimeout = 2 * 60 * time.Second
)

// server is one API server from the registry down. It implements target.Storage, and what a server
// can do besides: target.Replacer, target.Counter and target.Windowed.
type server struct {
	config   target.ServerConfig
	newCache NewCache
	stopping sync.Once
	stopped  chan struct{}

	serving atomic.Pointer[stack] // used by new requests
	mu      sync.Mutex            // guards the stacks and fillings
	stacks  []*stack              // those not stopped, the serving one last
	// fillings is how often the caches before the serving one were filled.
	fillings int
}

// stack is what a request passes through: the registry, a cache, and the storage below it.
type stack struct {
	*registry.Handler
	cache Cache
	// upstream is between the cache and the etcd3 store.
	upstream upstreamStorage
	requests sync.WaitGroup // in progress, except for watches
	below    func()         // stops what is below the cache
	stopping sync.Once
}

func startServer(config target.ServerConfig, newCache NewCache) (*server, error) {
	if err := setGates(config.Tuning.Gates); err != nil {
		return nil, err
	}
	if config.Injection == nil {
		config.Injection = &target.Injection{}
	}
	s := &server{config: config, newCache: newCache, stopped: make(chan struct{})}
	first, err := s.start()
	if err != nil {
		return nil, err
	}
	s.stacks = []*stack{first}
	s.serving.Store(first)
	return s, nil
}

// start wires what kube-apiserver's storage factory and storage decorator wire for one resource.
// The compactor shares the store's etcd client; in kube-apiserver it has its own.
func (s *server) start() (*stack, error) {
	config, injection := s.config, s.config.Injection
	transformer, err := newTransformer(config)
	if err != nil {
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

	versioner, codec := storage.APIObjectVersioner{}, registry.FaultyCodec{Codec: registry.PodCodec, Injection: injection}
	store, err := etcd3.New(client, compactor, codec, registry.NewPod, registry.NewPodList, registry.StoragePrefix, registry.ResourcePrefix,
		registry.PodResource, registry.FaultyTransformer{Transformer: transformer, Injection: injection}, etcd3.NewDefaultLeaseManagerConfig(),
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
	settings := registry.CacherConfig(upstream)
	settings.EventsHistoryWindow = cmp.Or(config.Tuning.HistoryWindow, eventsHistoryWindow)
	cache, err := s.newCache(settings, config)
	if err == nil && cache.Storage == nil {
		err = errors.New("expected the cache to have a Storage, found none")
	}
	if err != nil {
		below()
		return nil, err
	}
	if cache.Stop == nil {
		cache.Stop = func() {}
	}
	return &stack{
		Handler:  &registry.Handler{Storage: cache.Storage, Release: release, Stopped: s.stopped, TTL: injection.TTL.Load, Padding: config.ObjectBytes, InPlace: config.Tuning.InPlace, InValidation: config.Tuning.InValidation},
		cache:    cache,
		upstream: upstream,
		below:    below,
	}, nil
}

// stop stops the cache, and with it its watches, and then what is below.
func (s *stack) stop() {
	s.stopping.Do(func() {
		s.cache.Stop()
		s.below()
	})
}

func (s *server) Do(ctx context.Context, op *model.Operation, token string) (next string) {
	serving := s.serving.Load()
	serving.requests.Add(1)
	defer serving.requests.Done()
	return serving.Do(ctx, op, token)
}

func (s *server) Watch(ctx context.Context, stream *model.Stream) target.Watch {
	return s.serving.Load().Watch(ctx, stream)
}

// ReplaceStorage does what the handler of custom resources does when a CustomResourceDefinition
// changes.
func (s *server) ReplaceStorage() error {
	next, err := s.start()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.serving.Load()
	if filling, _, known := old.window(); known {
		s.fillings += filling
	} else {
		s.fillings++
	}
	s.stacks = append(s.stacks, next)
	s.serving.Store(next)
	go s.retire(old)
	return nil
}

// retire stops an old stack when its requests have ended.
func (s *server) retire(old *stack) {
	select {
	case <-time.After(drainDelay):
	case <-s.stopped:
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		old.requests.Wait()
	}()
	select {
	case <-drained:
	case <-time.After(drainTimeout):
	case <-s.stopped:
	}
	old.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stacks = slices.DeleteFunc(s.stacks, func(other *stack) bool { return other == old })
}

// Watchers counts those of all caches that are not stopped.
func (s *server) Watchers() (count int) {
	s.mu.Lock()
	stacks := slices.Clone(s.stacks)
	s.mu.Unlock()
	for _, each := range stacks {
		if each.cache.Watchers == nil {
			return model.Uncounted
		}
		count += each.cache.Watchers()
	}
	return count
}

func (s *server) BreakWatch(how faults.WatchEnd) { s.serving.Load().upstream.BreakWatches(how) }

func (s *server) Stop() {
	s.stopping.Do(func() {
		close(s.stopped)
		s.mu.Lock()
		stacks := slices.Clone(s.stacks)
		s.mu.Unlock()
		for _, each := range stacks {
			each.stop()
		}
	})
}

// Window reads the window of a cache that does not expose it.
type Window struct {
	// Locks guard what See reads.
	Locks []*sync.RWMutex
	// See returns how often the cache has been initialised, and its window; 0 if the
	// window cannot be read now.
	See func() (filling int, window model.Window)
}

// Window counts a cache that is replaced as filled again.
func (s *server) Window() (filling int, window model.Window, known bool) {
	if !s.mu.TryLock() {
		return 0, model.Window{}, false
	}
	defer s.mu.Unlock()
	filling, window, known = s.serving.Load().window()
	if filling > 0 {
		filling += s.fillings
	}
	return filling, window, known
}

// window reads the cache's window. It tries the locks for writing: in a simulation, a read
// lock taken with TryRLock is not counted until it is released.
func (s *stack) window() (filling int, window model.Window, known bool) {
	if s.cache.Window.See == nil {
		return 0, model.Window{}, false
	}
	for _, lock := range s.cache.Window.Locks {
		if !lock.TryLock() {
			return 0, model.Window{}, false
		}
		defer lock.Unlock()
	}
	filling, window = s.cache.Window.See()
	return filling, window, true
}

// upstreamStorage is the storage below the cache, with the methods that old releases
// lack: reading the current revision and requesting progress. It also supports caches
// that start with a watch instead of a list.
type upstreamStorage struct{ *registry.Upstream }

func newUpstreamStorage(inner storage.Interface, injection *target.Injection, reached func(context.Context, string)) upstreamStorage {
	upstream := registry.NewUpstream(inner, injection, reached)
	upstream.BeginsWithList = func(options storage.ListOptions) bool {
		return options.SendInitialEvents != nil && *options.SendInitialEvents
	}
	return upstreamStorage{upstream}
}

func (u upstreamStorage) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	u.Reached(ctx, faults.PointRevision)
	return u.Upstream.GetCurrentResourceVersion(ctx)
}

func (u upstreamStorage) RequestWatchProgress(ctx context.Context) error {
	u.Reached(ctx, faults.PointProgress)
	return u.Upstream.RequestWatchProgress(ctx)
}
