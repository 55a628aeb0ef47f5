package server

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMetrics reads what the server reports about either cache, under the same
// names. They are counted for the whole process, so no other server runs meanwhile.
func TestMetrics(t *testing.T) {
	etcd := startEtcd(t)
	for _, watchCache := range []WatchCache{Watchsim, Kubernetes} {
		t.Run(string(watchCache), func(t *testing.T) {
			s := start(t, watchCache, etcd, nil)
			labels := `\{group="example.watchsim.dev",resource="widgets"\}`
			received := regexp.MustCompile(`(?m)^apiserver_watch_cache_events_received_total` + labels + ` (\d+)$`)
			count := func() uint64 {
				if found := received.FindStringSubmatch(s.get("/metrics")); found != nil {
					return resourceVersion(t, found[1])
				}
				return 0
			}
			before := count()
			s.remove(s.create("n", "w", "", nil))
			require.Eventually(t, func() bool { return count() == before+2 }, patience, 10*time.Millisecond)
			require.Regexp(t, `(?m)^apiserver_watch_cache_resource_version`+labels, s.get("/metrics"))
			s.stop()
		})
	}
}
