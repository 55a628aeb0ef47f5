package linearizability_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/linearizability"
	"github.com/watchsim/watchsim/model"
)

func TestServersShareAndRelease(t *testing.T) {
	const settled = 6 // seconds
	serving := func(at int64, streams, etcd int) model.Census {
		return model.Census{Time: at * second, Phase: model.Serving, Server: "s1", Revision: 20,
			Streams: streams, Watchers: streams, EtcdWatches: etcd, Goroutines: 40 + streams}
	}
	left := func(streams, watchers, etcd int) model.Census {
		return model.Census{Time: 20 * second, Phase: model.Left, Server: "s1", Revision: 20,
			Streams: streams, Watchers: watchers, EtcdWatches: etcd, Goroutines: 40}
	}
	stopped := func(etcd, goroutines int) model.Census {
		return model.Census{Time: 21 * second, Phase: model.Stopped, Server: "s1", Revision: 20,
			EtcdWatches: etcd, Goroutines: goroutines}
	}
	shared, released := guarantees{linearizability.Shared}, guarantees{linearizability.Released}
	for _, row := range []struct {
		name             string
		censuses         []model.Census
		shared, released int
		broken           guarantees
	}{
		{"one watch for all", []model.Census{serving(settled, 2, 1), serving(10, 50, 1)}, 2, 0, nil},
		{"everything released", []model.Census{left(0, 0, 1), stopped(0, 0)}, 0, 1, nil},
		{"two servers", []model.Census{stopped(0, 0), {Time: 21 * second, Phase: model.Stopped, Server: "s2"}}, 0, 2, nil},

		// These must not be false positives.
		{"fewer watchers than streams: blocked ones were closed", []model.Census{{Time: 9 * second, Phase: model.Serving, Server: "s1", Streams: 9, Watchers: 2, EtcdWatches: 1}}, 1, 0, nil},
		{"no watch on etcd while the cache lists", []model.Census{serving(10, 5, 0), left(0, 0, 0)}, 1, 0, nil},
		{"dead watches on etcd before the run has settled", []model.Census{serving(settled-1, 5, 4)}, 0, 0, nil},
		{"a watch is being replaced", []model.Census{serving(5, 5, 1), serving(10, 5, 2), serving(15, 5, 1)}, 2, 0, nil},
		{"a watch is being replaced on each of two servers", []model.Census{
			serving(10, 5, 2),
			{Time: 10 * second, Phase: model.Serving, Server: "s2", Streams: 5, Watchers: 5, EtcdWatches: 2},
		}, 2, 0, nil},
		{"no more watches on etcd than clients", []model.Census{serving(10, 1, 1)}, 0, 0, nil},
		{"a cache without a count of watchers", []model.Census{left(0, model.Uncounted, 1)}, 0, 0, nil},
		{"goroutines while it runs", []model.Census{left(0, 0, 1)}, 0, 0, nil},
		{"stopped behind a partition", []model.Census{{Time: 3 * second, Phase: model.Stopped, Server: "s1", EtcdWatches: 1, Goroutines: 3}}, 0, 0, nil},

		{"a watch for each client", []model.Census{serving(5, 5, 5), serving(10, 5, 5)}, 1, 0, shared},
		{"one watch on etcd too many", []model.Census{serving(10, 5, 2), serving(15, 5, 2)}, 2, 0, shared},
		{"a stream that is served", []model.Census{left(1, 0, 1)}, 0, 0, released},
		{"a watcher in the cache", []model.Census{left(0, 1, 1)}, 0, 0, released},
		{"a watch on etcd", []model.Census{left(0, 0, 2)}, 0, 0, released},
		{"a watch on etcd of a stopped server", []model.Census{stopped(1, 0)}, 0, 1, released},
		{"a goroutine of a stopped server", []model.Census{stopped(0, 1)}, 0, 1, released},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := &model.History{Truth: shortTruth(), Healed: second, End: 19 * second, Censuses: row.censuses}
			counts := judge(t, h, row.broken).Counts
			require.Equal(t, row.shared, counts.Shared)
			require.Equal(t, row.released, counts.Released)
		})
	}
}

func TestTheReportListsAllThatIsLeft(t *testing.T) {
	h := &model.History{Truth: shortTruth(), Healed: second, End: 19 * second, Censuses: []model.Census{
		{Time: 20 * second, Phase: model.Stopped, Server: "s1", Streams: 1, Watchers: 2, EtcdWatches: 3, Goroutines: 4},
	}}
	require.Equal(t, "s1 still held 1 client watch, 2 cache watchers, 3 etcd watches and 4 goroutines after it had stopped",
		judge(t, h, guarantees{linearizability.Released}).Violations[0].Sentence())
}
