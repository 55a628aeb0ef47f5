package cacher

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/component-base/metrics/legacyregistry"
)

// scrape returns the metrics of one resource as in /metrics, by name. A histogram is its count;
// further labels are summed.
func scrape(t testing.TB, resource string) map[string]float64 {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	require.NoError(t, err)
	found := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.Metric {
			for _, label := range metric.Label {
				if label.GetName() == "resource" && label.GetValue() == resource {
					found[family.GetName()] += metric.GetGauge().GetValue() + metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
				}
			}
		}
	}
	return found
}

// The activity and memory usage of a cache can be read under the names that dashboards for
// Kubernetes use, and some more.
func TestMetrics(t *testing.T) {
	withProgress(t)
	resource := fmt.Sprint("measured-", time.Now().UnixNano()) // counters outlive a test
	c, store := newFakeFixture(t, small, func(s *setup) {
		s.config.GroupResource = schema.GroupResource{Resource: resource}
		s.config.ObjectSize, s.config.MaxEventBytes = func(runtime.Object) int64 { return 3 }, 1<<20
	})
	w := open(t, c, nil)
	for rv := uint64(2); rv <= 40; rv++ {
		store.send(watch.Added, rv, newTestPod(fmt.Sprint(rv)))
		require.Equal(t, fmt.Sprintf("ADDED %d %d", rv, rv), next(t, w))
	}
	dispatched(t, c, 40)
	require.Equal(t, "ERROR 410", next(t, open(t, c, nil)))
	initial := open(t, c, from("0"))
	for range 39 {
		next(t, initial)
	}
	require.NoError(t, c.GetList(t.Context(), podPrefix, allPods(""), newPodList()))
	past := allPods("30")
	past.ResourceVersionMatch = metav1.ResourceVersionMatchExact
	require.NoError(t, c.GetList(t.Context(), podPrefix, past, &example.PodList{}))

	want := map[string]float64{
		"apiserver_cache_list_total":                            2,
		"apiserver_cache_list_fetched_objects_total":            39 + 29,
		"apiserver_cache_list_returned_objects_total":           39 + 29,
		"apiserver_init_events_total":                           39,
		"apiserver_terminated_watchers_total":                   0,
		"apiserver_watch_cache_events_received_total":           39,
		"apiserver_watch_cache_events_dispatched_total":         39,
		"apiserver_watch_cache_resource_version":                40,
		"apiserver_watch_cache_initializations_total":           1,
		"apiserver_watch_cache_initialization_duration_seconds": 1,
		"apiserver_watch_cache_consistent_read_total":           1,
		"watch_cache_capacity":                                  32,
		"apiserver_watch_cache_capacity":                        32,
		"apiserver_watch_cache_objects":                         39,
		"apiserver_watch_cache_events":                          20,
		"apiserver_watch_cache_event_bytes":                     60,
		"apiserver_watch_cache_stale_total":                     1,
		"apiserver_registered_watchers":                         2,
	}
	require.Eventually(t, func() bool { return scrape(t, resource)["apiserver_watch_cache_events"] == 20 }, patience, time.Millisecond)
	got := scrape(t, resource)
	for name, value := range want {
		require.Equal(t, value, got[name], name)
	}
	require.Positive(t, got["apiserver_watch_events_dispatch_duration_seconds"])
	require.Equal(t, Usage{Objects: 39, Events: 20, Bytes: 60, Capacity: 32, Snapshots: 2, Watchers: 2}, c.Usage())

	c.Stop()
	require.Zero(t, scrape(t, resource)["apiserver_registered_watchers"])
}
