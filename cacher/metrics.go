package cacher

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/cacher/metrics"
	compbasemetrics "k8s.io/component-base/metrics"
)

// recorder reports what one cache does, through the collectors of Kubernetes' own
// cache: under the names that dashboards know, and so that both can live in one
// process. What is counted often is looked up once.
type recorder struct {
	resource       schema.GroupResource
	labels         []string
	eventsReceived compbasemetrics.CounterMetric
	eventsWoken    compbasemetrics.CounterMetric
	fellBehind     compbasemetrics.CounterMetric
	latency        *metrics.WatcherMetricsObservers
	capacity       int
}

func newRecorder(resource schema.GroupResource) *recorder {
	metrics.Register()
	labels := []string{resource.Group, resource.Resource}
	return &recorder{
		resource:       resource,
		labels:         labels,
		eventsReceived: metrics.EventsReceivedCounter.WithLabelValues(labels...),
		eventsWoken:    metrics.EventsCounter.WithLabelValues(labels...),
		fellBehind:     metrics.TerminatedWatchersCounter.WithLabelValues(labels...),
		latency:        metrics.NewWatcherMetricsObservers(resource),
	}
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

// dispatched reports how long an event took to one watch: since the storage decoded
// it, and since there was room for it.
func (r *recorder) dispatched(e *event, built, sent time.Time) {
	r.latency.ObserveStage(metrics.StageStorageToCache, e.received.Sub(e.stored))
	r.latency.ObserveStage(metrics.StageCacheToWatcher, sent.Sub(built))
	r.latency.ObserveStage(metrics.StageTotal, sent.Sub(e.stored))
}

func (r *recorder) terminated() { r.fellBehind.Inc() }

func (r *recorder) initialEvents(count int) {
	metrics.InitCounter.WithLabelValues(r.labels...).Add(float64(count))
}

func (r *recorder) waited(ctx context.Context, d time.Duration) {
	metrics.WatchCacheReadWait.WithContext(ctx).WithLabelValues(r.labels...).Observe(d.Seconds())
}

func (r *recorder) consistentRead(succeeded bool, fallback string) {
	success := "false"
	if succeeded {
		success = "true"
	}
	metrics.ConsistentReadTotal.WithLabelValues(append(r.labels[:2:2], success, fallback)...).Inc()
}

func (r *recorder) listed(index string, fetched, returned int) {
	metrics.RecordListCacheMetrics(r.resource, index, fetched, returned)
}
