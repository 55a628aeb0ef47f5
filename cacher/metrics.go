package cacher

import (
	"context"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/cacher/metrics"
	compbasemetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// recorder reports the activity of one cache, with the collectors of Kubernetes' own cache: under
// the names that dashboards use, and so that both can be in one process. Frequently used collectors
// are looked up once.
type recorder struct {
	resource       schema.GroupResource
	labels         []string
	eventsReceived compbasemetrics.CounterMetric
	eventsWoken    compbasemetrics.CounterMetric
	fellBehind     compbasemetrics.CounterMetric
	latency        *metrics.WatcherMetricsObservers
	capacity       int
	watchers       compbasemetrics.GaugeMetric
	held           []compbasemetrics.GaugeMetric // as heldGauges
}

// Kubernetes' cache does not report its memory usage. These metrics do, under similar names.
// apiserver_registered_watchers was one of Kubernetes' own, and dashboards use
// apiserver_watch_cache_capacity and _stale_total.
var (
	heldGauges = []struct {
		gauge *compbasemetrics.GaugeVec
		value func(Usage) int64
	}{
		{newGauge("watch_cache_objects", "Number of objects in the watch cache."), func(u Usage) int64 { return int64(u.Objects) }},
		{newGauge("watch_cache_events", "Number of events in the window of the watch cache."), func(u Usage) int64 { return int64(u.Events) }},
		{newGauge("watch_cache_event_bytes", "Estimated size of the objects of the window's events in bytes."), func(u Usage) int64 { return u.Bytes }},
		{newGauge("watch_cache_snapshots", "Number of past states that the watch cache keeps."), func(u Usage) int64 { return int64(u.Snapshots) }},
		{newGauge("watch_cache_capacity", "Number of events for which the window has room before it grows."), func(u Usage) int64 { return int64(u.Capacity) }},
	}
	watchersGauge = newGauge("registered_watchers", "Number of open watches of the watch cache.")
	staleCounter  = compbasemetrics.NewCounterVec(&compbasemetrics.CounterOpts{
		Namespace: "apiserver", Name: "watch_cache_stale_total", StabilityLevel: compbasemetrics.ALPHA,
		Help: "Counter of watches that got a 410, as the window no longer had the events that come next.",
	}, []string{"group", "resource"})

	registerOwn = sync.OnceFunc(func() {
		legacyregistry.MustRegister(watchersGauge, staleCounter)
		for _, each := range heldGauges {
			legacyregistry.MustRegister(each.gauge)
		}
	})
)

func newGauge(name, help string) *compbasemetrics.GaugeVec {
	return compbasemetrics.NewGaugeVec(&compbasemetrics.GaugeOpts{
		Namespace: "apiserver", Name: name, Help: help, StabilityLevel: compbasemetrics.ALPHA,
	}, []string{"group", "resource"})
}

func newRecorder(resource schema.GroupResource, capacity int) *recorder {
	metrics.Register()
	registerOwn()
	labels := []string{resource.Group, resource.Resource}
	metrics.WatchCacheCapacity.WithLabelValues(labels...).Set(float64(capacity))
	r := &recorder{
		capacity:       capacity,
		watchers:       watchersGauge.WithLabelValues(labels...),
		resource:       resource,
		labels:         labels,
		eventsReceived: metrics.EventsReceivedCounter.WithLabelValues(labels...),
		eventsWoken:    metrics.EventsCounter.WithLabelValues(labels...),
		fellBehind:     metrics.TerminatedWatchersCounter.WithLabelValues(labels...),
		latency:        metrics.NewWatcherMetricsObservers(resource),
	}
	for _, each := range heldGauges {
		r.held = append(r.held, each.gauge.WithLabelValues(labels...))
	}
	return r
}

func (r *recorder) initialised(took time.Duration) {
	metrics.WatchCacheInitializations.WithLabelValues(r.labels...).Inc()
	metrics.WatchCacheInitializationDuration.WithLabelValues(r.labels...).Observe(took.Seconds())
}

func (r *recorder) initialisationFailed() {
	metrics.WatchCacheInitializationErrors.WithLabelValues(r.labels...).Inc()
}

// received counts an event of the storage, and reports the size of the window.
// Only ingest calls it.
func (r *recorder) received(window *eventLog) {
	r.eventsReceived.Inc()
	if capacity := len(window.ring); capacity != r.capacity {
		metrics.RecordsWatchCacheCapacityChange(r.resource, r.capacity, capacity)
		r.capacity = capacity
	}
}

func (r *recorder) reached(rv uint64) { metrics.RecordResourceVersion(r.resource, rv) }

func (r *recorder) eventsDispatched(count int) { r.eventsWoken.Add(float64(count)) }

// dispatched reports the latency of an event to one watch: since the storage decoded it, and since
// there was room for it.
func (r *recorder) dispatched(e *event, built, sent time.Time) {
	r.latency.ObserveStage(metrics.StageStorageToCache, e.received.Sub(e.stored))
	r.latency.ObserveStage(metrics.StageCacheToWatcher, sent.Sub(built))
	r.latency.ObserveStage(metrics.StageTotal, sent.Sub(e.stored))
}

// used reports the memory usage. The dispatcher calls it.
func (r *recorder) used(u Usage) {
	for i, each := range heldGauges {
		r.held[i].Set(float64(each.value(u)))
	}
}

// opened and closed count the open watches.
func (r *recorder) opened(w *watcher) {
	r.watchers.Inc()
	if w.filter.shard != nil {
		metrics.RecordShardedWatchStarted(r.resource)
	}
}

func (r *recorder) closed(w *watcher) {
	r.watchers.Dec()
	if w.filter.shard != nil {
		metrics.RecordShardedWatchStopped(r.resource)
	}
}

// stale counts a watch whose resourceVersion is too old: its client must relist.
func (r *recorder) stale() { staleCounter.WithLabelValues(r.labels...).Inc() }

func (r *recorder) terminated() { r.fellBehind.Inc() }

func (r *recorder) initialEvents(count int) {
	metrics.InitCounter.WithLabelValues(r.labels...).Add(float64(count))
}

func (r *recorder) waited(ctx context.Context, d time.Duration) {
	metrics.WatchCacheReadWait.WithContext(ctx).WithLabelValues(r.labels...).Observe(d.Seconds())
}

func (r *recorder) consistentRead(succeeded bool, fallback string) {
	metrics.ConsistentReadTotal.WithLabelValues(append(r.labels[:2:2], strconv.FormatBool(succeeded), fallback)...).Inc()
}

func (r *recorder) listed(index string, fetched, returned int) {
	metrics.RecordListCacheMetrics(r.resource, index, fetched, returned)
}
