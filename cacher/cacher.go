package cacher

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher/consistency"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/tracing"
	"k8s.io/klog/v2"
)

// Cacher is a storage.Interface that serves watches and most reads of one resource
// from memory, and writes to the storage below.
type Cacher struct {
	config     Config
	state      *state
	watchers   *watchers
	dispatcher dispatcher
	progress   progressRequests
	compaction compaction
	metrics    *recorder
	watched    int // number of watches of the storage opened so far
	// snapshotting says whether past states are served.
	snapshotting bool

	ctx    context.Context // until Stop
	cancel context.CancelFunc
	group  sync.WaitGroup // all goroutines but those of watches
}

var _ storage.Interface = &Cacher{}

// New starts a cache. It returns at once; Wait waits until the cache can be read.
func New(config Config) (*Cacher, error) {
	config, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("watch cache of %s: %w", config.GroupResource, err)
	}
	c := &Cacher{
		config: config,
		state: newState(config.Clock, newTree(config.Indexers), limits{
			age: config.EventsHistoryWindow, min: config.MinEvents, max: config.MaxEvents, bytes: config.MaxEventBytes,
		}),
		watchers:     newWatchers(&config),
		dispatcher:   newDispatcher(),
		snapshotting: utilfeature.DefaultFeatureGate.Enabled(features.ListFromCacheSnapshot),
	}
	c.metrics = newRecorder(config.GroupResource, len(c.state.log.ring))
	c.progress.storage, c.progress.clock = config.Storage, config.Clock
	c.ctx, c.cancel = context.WithCancel(context.Background())
	if utilfeature.DefaultFeatureGate.Enabled(features.SizeBasedListCostEstimate) {
		if err := config.Storage.EnableResourceSizeEstimation(c.keys); err != nil {
			c.cancel()
			return nil, fmt.Errorf("watch cache of %s: size estimation: %w", config.GroupResource, err)
		}
	}
	c.group.Go(c.ingest)
	c.group.Go(c.dispatch)
	if c.snapshotting {
		c.group.Go(c.pollCompaction)
	}
	if utilfeature.DefaultFeatureGate.Enabled(features.DetectCacheInconsistency) || consistency.PanicOnCacheInconsistency {
		checker := consistency.NewChecker(config.ResourcePrefix, config.GroupResource, config.NewListFunc, cached{c}, config.Storage)
		c.group.Go(func() { checker.Run(c.ctx.Done()) })
	}
	return c, nil
}

// Stop ends all watches, makes further requests fail, and waits for the cache's
// goroutines. The storage below is not stopped.
func (c *Cacher) Stop() {
	c.state.stop()
	c.cancel()
	c.group.Wait()
	c.watchers.endAll()
}

// Wait waits until the cache can be read. It fails if the cache is stopped or ctx is done before.
func (c *Cacher) Wait(ctx context.Context) error { return c.state.waitReady(ctx) }

// Ready reports whether the cache can be read.
func (c *Cacher) Ready() bool { return c.state.checkReady() == nil }

// Watchers returns how many watches are open.
func (c *Cacher) Watchers() int { return c.watchers.len() }

// Usage is a cache's memory usage.
type Usage struct {
	// Objects are the current ones, Events those of the window. Bytes is the sum of
	// Config.ObjectSize over the events' objects, 0 without it.
	Objects, Events int
	Bytes           int64
	// Capacity is how many events fit into the window before it grows.
	Capacity int
	// Snapshots are the past states kept; each takes only its differences from the next.
	Snapshots int
	Watchers  int
}

// Usage returns the current memory usage.
func (c *Cacher) Usage() Usage {
	used := c.state.usage()
	used.Watchers = c.watchers.len()
	return used
}

// MarkConsistent says whether the cache was found to agree with its storage. While it does not,
// past states are read from the storage.
func (c *Cacher) MarkConsistent(consistent bool) { c.state.markConsistent(consistent) }

// Versioner implements storage.Interface.
func (c *Cacher) Versioner() storage.Versioner { return c.config.Storage.Versioner() }

// Create implements storage.Interface.
func (c *Cacher) Create(ctx context.Context, key string, object, out runtime.Object, ttl uint64) error {
	return c.config.Storage.Create(ctx, key, object, out, ttl)
}

// Delete implements storage.Interface. The storage gets the cached object as a suggestion of the
// current state, and verifies it.
func (c *Cacher) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, _ runtime.Object, options storage.DeleteOptions) error {
	return c.config.Storage.Delete(ctx, key, out, preconditions, validate, c.suggestion(key), options)
}

// GuaranteedUpdate implements storage.Interface, with a suggestion as Delete.
func (c *Cacher) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, update storage.UpdateFunc, _ runtime.Object) error {
	return c.config.Storage.GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions, update, c.suggestion(key))
}

// suggestion returns a copy of the cached object, as the storage may write to it; nil if there is
// none.
func (c *Cacher) suggestion(key string) runtime.Object {
	if e, _ := c.state.get(key); e != nil {
		return e.object.DeepCopyObject()
	}
	return nil
}

// Get implements storage.Interface. Without an RV it reads from the storage, which for one object
// costs as much as getting the current RV.
func (c *Cacher) Get(ctx context.Context, key string, options storage.GetOptions, out runtime.Object) error {
	if options.ResourceVersion == "" || !c.Ready() {
		return c.config.Storage.Get(ctx, key, options, out)
	}
	ctx, span := tracing.Start(ctx, "cacher.Get",
		attribute.String("audit-id", audit.GetAuditIDTruncated(ctx)),
		attribute.String("key", key),
		attribute.String("resource-version", options.ResourceVersion))
	rv, err := c.config.Versioner.ParseResourceVersion(options.ResourceVersion)
	if err != nil {
		return err
	}
	key, err = storage.PrepareKey(c.config.ResourcePrefix, key, false)
	if err != nil {
		return err
	}
	value, err := conversion.EnforcePtr(out)
	if err != nil {
		return err
	}
	if err := c.waitFresh(ctx, rv); err != nil {
		return err
	}
	defer span.End(traceThreshold) // a read that timed out needs no trace
	found, readAt := c.state.get(key)
	switch {
	case found != nil:
		value.Set(reflect.ValueOf(found.object).Elem())
	case options.IgnoreNotFound:
		value.SetZero()
	default:
		value.SetZero()
		return storage.NewKeyNotFoundError(key, int64(readAt))
	}
	return nil
}

// Stats implements storage.Interface.
func (c *Cacher) Stats(ctx context.Context) (storage.Stats, error) {
	return c.config.Storage.Stats(ctx)
}

// ReadinessCheck implements storage.Interface.
func (c *Cacher) ReadinessCheck() error {
	if !c.Ready() {
		return storage.ErrStorageNotReady
	}
	return nil
}

// RequestWatchProgress implements storage.Interface.
func (c *Cacher) RequestWatchProgress(ctx context.Context) error {
	return c.config.Storage.RequestWatchProgress(ctx)
}

// GetCurrentResourceVersion implements storage.Interface.
func (c *Cacher) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	return c.config.Storage.GetCurrentResourceVersion(ctx)
}

// EnableResourceSizeEstimation implements storage.Interface.
func (c *Cacher) EnableResourceSizeEstimation(keys storage.KeysFunc) error {
	return c.config.Storage.EnableResourceSizeEstimation(keys)
}

// keys returns the keys of all objects, for the storage's size estimates.
func (c *Cacher) keys(ctx context.Context) ([]string, error) {
	ctx, span := tracing.Start(ctx, "cacher.keys", attribute.String("audit-id", audit.GetAuditIDTruncated(ctx)))
	defer span.End(traceThreshold)
	rv, err := c.config.Storage.GetCurrentResourceVersion(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.waitFresh(ctx, rv); err != nil {
		return nil, err
	}
	current, _ := c.state.latest()
	keys := make([]string, 0, current.objects.Len())
	current.objects.Ascend(func(e *element) bool {
		keys = append(keys, e.key)
		return true
	})
	return keys, nil
}

// cached is the cache without the storage as a fallback, for comparing the two.
type cached struct{ *Cacher }

// GetList returns the objects in the cache.
func (c cached) GetList(ctx context.Context, key string, options storage.ListOptions, out runtime.Object) error {
	key, err := storage.PrepareKey(c.config.ResourcePrefix, key, options.Recursive)
	if err != nil {
		return err
	}
	plan, err := c.planList(key, options)
	if err != nil {
		return err
	}
	klog.V(5).InfoS("Comparing the watch cache with its storage", "resource", c.config.GroupResource)
	return c.listCached(ctx, key, plan, options, out)
}
