package cacher

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"
)

// experimentLoad is what BenchmarkWatchesOnEtcd does to etcd.
type experimentLoad struct {
	rate, seconds int // of the writes
	pods, payload int // number of pods, which are updated in turn, and bytes in each
	perConnection int // watches on a connection of served=etcd-spread
}

var flagLoad experimentLoad

func init() {
	flag.IntVar(&flagLoad.rate, "rate", 2, "writes a second of BenchmarkWatchesOnEtcd")
	flag.IntVar(&flagLoad.seconds, "seconds", 5, "seconds of writing")
	flag.IntVar(&flagLoad.pods, "pods", 10, "pods that exist and are updated in turn")
	flag.IntVar(&flagLoad.payload, "bytes", 1024, "payload of each pod")
	flag.IntVar(&flagLoad.perConnection, "per-connection", 100, "watches that share a connection in served=etcd-spread")
}

// BenchmarkWatchesOnEtcd measures what a watch cache saves etcd. It opens up to 10,000
// watches of the same pods, directly in etcd or through a cache, writes, and reports
// etcd's CPU time, its number of watches, and how long events take to reach clients. etcd
// is a process of its own; the clients, and the cache if there is one, are in this one.
// Events that do not come are reported as missing, watches that the server ends as ended.
func BenchmarkWatchesOnEtcd(b *testing.B) {
	for _, watches := range []int{1, 10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("watches=%d", watches), func(b *testing.B) {
			for _, v := range variants {
				b.Run("served="+v.name, func(b *testing.B) {
					if !within(benchDeadline, func() { measureOnEtcd(b, v, watches, flagLoad).report(b) }) {
						b.Fatalf("expected the measurement to end within %v, found it still running", benchDeadline)
					}
				})
			}
		})
	}
}

// variant is a way to serve clients that watch all pods.
type variant struct {
	name string
	open func(t testing.TB, address string, watches int, load experimentLoad) openWatch
}

// openWatch opens the watch of a client, which begins with the pods that exist and ends
// with the context.
type openWatch func(ctx context.Context, client int) (nextRevisions, error)

// nextRevisions waits for events and returns their revisions, none once the watch has
// ended. What it returned is overwritten by the next call.
type nextRevisions func() []int64

var variants = []variant{
	{"etcd-shared", func(t testing.TB, address string, _ int, _ experimentLoad) openWatch {
		return openDirect(t, address, 1)
	}},
	{"etcd-spread", func(t testing.TB, address string, watches int, load experimentLoad) openWatch {
		return openDirect(t, address, (watches+load.perConnection-1)/load.perConnection)
	}},
	{"kubernetes", openCached(cachesUnderTest[1])},
	{"cacher", openCached(cachesUnderTest[0])},
}

// openDirect gives each client a watch of its own in etcd. The watches of one connection
// share a gRPC stream, as clientv3 arranges it. They ask for what the etcd3 store asks for:
// the pods, then changes with the previous values.
func openDirect(t testing.TB, address string, connections int) openWatch {
	clients := make([]*clientv3.Client, connections)
	for i := range clients {
		clients[i] = connectEtcd(t, address).Client
	}
	const pods = "/registry" + podPrefix
	return func(ctx context.Context, client int) (nextRevisions, error) {
		etcd := clients[client%len(clients)]
		ctx = clientv3.WithRequireLeader(ctx)
		current, err := etcd.Get(ctx, pods, clientv3.WithPrefix())
		if err != nil {
			return nil, err
		}
		changes := etcd.Watch(ctx, pods, clientv3.WithPrefix(), clientv3.WithPrevKV(), clientv3.WithRev(current.Header.Revision+1))
		var revisions []int64
		return func() []int64 {
			revisions = revisions[:0]
			if current != nil {
				for _, kv := range current.Kvs {
					revisions = append(revisions, kv.ModRevision)
				}
				current = nil
			}
			for len(revisions) == 0 {
				response, open := <-changes
				if !open || response.Err() != nil {
					return nil
				}
				for _, event := range response.Events {
					revisions = append(revisions, event.Kv.ModRevision)
				}
			}
			return revisions
		}, nil
	}
}

// openCached serves all clients from one cache over one connection to etcd, as an API
// server does for clients that ask for resourceVersion 0.
func openCached(under cacheUnderTest) func(testing.TB, string, int, experimentLoad) openWatch {
	return func(t testing.TB, address string, _ int, _ experimentLoad) openWatch {
		config := podConfig(experimentStore(t, address))
		config.Codec = podCodec
		cache := under.start(t, config)
		return func(ctx context.Context, _ int) (nextRevisions, error) {
			w, err := cache.Watch(ctx, podPrefix, allPods("0"))
			if err != nil {
				return nil, err
			}
			return func() []int64 {
				event, open := <-w.ResultChan()
				if !open || event.Type == watch.Error {
					return nil
				}
				return []int64{int64(rvOf(event.Object))}
			}, nil
		}
	}
}

// figures are the result of one measurement.
type figures struct {
	etcdWatches                     int
	etcdBytes                       int64
	open, write                     usage
	writes                          int
	writeP50, eventP50, eventP99    time.Duration
	expected, missing, wrong, ended int
}

func (f figures) report(b *testing.B) {
	// Not in ns, which benchstat takes for another unit where the value is 0.
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	for unit, value := range map[string]float64{
		"etcd-watches": float64(f.etcdWatches), "etcd-B": float64(f.etcdBytes),
		"etcd-cpu-ms/open": ms(f.open.etcd), "client-cpu-ms/open": ms(f.open.client),
		"etcd-cpu-ms/write": ms(f.write.etcd) / float64(f.writes), "client-cpu-ms/write": ms(f.write.client) / float64(f.writes),
		"p50-ms/write": ms(f.writeP50), "p50-ms/event": ms(f.eventP50), "p99-ms/event": ms(f.eventP99),
		"missing": float64(f.missing), "ended": float64(f.ended), "ns/op": 0,
	} {
		b.ReportMetric(value, unit)
	}
	if f.wrong > 0 {
		b.Errorf("expected each event once and in order, found %d of %d that came twice or too late", f.wrong, f.expected)
	}
}

// eventPatience bounds the wait for events that are on their way.
const eventPatience = time.Minute

// measureOnEtcd does one measurement with an etcd of its own.
func measureOnEtcd(t testing.TB, v variant, watches int, load experimentLoad) figures {
	etcd := startEtcd(t)
	store := experimentStore(t, etcd.address)
	f := figures{writes: load.rate * load.seconds}
	var committed []int64
	for i := range load.pods {
		pod := newTestPod(fmt.Sprintf("pod-%06d", i)) // revisions increase with keys
		pod.Annotations = map[string]string{"payload": strings.Repeat("x", load.payload)}
		created := newPod()
		require.NoError(t, store.Create(t.Context(), podKey(pod), pod, created, 0))
		committed = append(committed, int64(rvOf(created)))
	}
	open := v.open(t, etcd.address, watches, load)
	ctx, cancel := context.WithCancel(t.Context())
	var opened, delivered, running sync.WaitGroup
	defer running.Wait()
	defer cancel()

	all := make([]experimentClient, watches)
	before := etcd.usage(t)
	for i := range all {
		next, err := open(ctx, i)
		require.NoError(t, err)
		all[i] = experimentClient{initial: load.pods, total: load.pods + f.writes, opened: &opened, delivered: &delivered}
		opened.Add(1)
		delivered.Add(1)
		running.Go(func() { all[i].consume(ctx, next) })
	}
	require.True(t, within(eventPatience, opened.Wait), "expected each watch to begin with all pods within %v, found some that did not", eventPatience)
	f.open = etcd.usage(t).since(before)
	// A cache serves what it has listed, and may not have begun its watch.
	require.Eventually(t, func() bool {
		f.etcdWatches = etcd.watches(t)
		return f.etcdWatches > 0
	}, eventPatience, 10*time.Millisecond)

	before = etcd.usage(t)
	sent := map[int64]time.Time{}
	var acknowledged []time.Duration
	for i, begin := 0, time.Now(); i < f.writes; i++ {
		// A write that is due while the one before it is not acknowledged waits for that.
		time.Sleep(time.Until(begin.Add(time.Duration(i) * time.Second / time.Duration(load.rate))))
		at := time.Now()
		revision := updatePod(t, store, fmt.Sprintf("pod-%06d", i%load.pods), i)
		acknowledged = append(acknowledged, time.Since(at))
		committed, sent[revision] = append(committed, revision), at
	}
	within(eventPatience, delivered.Wait) // what has not come by then is missing
	f.write, f.etcdBytes = etcd.usage(t).since(before), etcd.residentBytes(t)
	cancel()
	running.Wait()

	var latencies []time.Duration
	for i := range all {
		missing, wrong := compareEvents(committed, all[i].receipts)
		f.expected, f.missing, f.wrong = f.expected+len(committed), f.missing+missing, f.wrong+wrong
		if all[i].ended {
			f.ended++
		}
		for _, r := range all[i].receipts {
			if at, written := sent[r.revision]; written {
				latencies = append(latencies, r.at.Sub(at))
			}
		}
	}
	f.writeP50, f.eventP50, f.eventP99 = quantile(acknowledged, 50), quantile(latencies, 50), quantile(latencies, 99)
	return f
}

func quantile(values []time.Duration, percent int) time.Duration {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[(len(values)*percent+99)/100-1]
}

func updatePod(t testing.TB, store storage.Interface, name string, change int) int64 {
	updated := newPod()
	err := store.GuaranteedUpdate(t.Context(), podKey(newTestPod(name)), updated, false, nil,
		storage.SimpleUpdate(func(current runtime.Object) (runtime.Object, error) {
			current.(*example.Pod).Labels = map[string]string{"change": fmt.Sprint(change)}
			return current, nil
		}), nil)
	require.NoError(t, err)
	return int64(rvOf(updated))
}

// receipt is an event as a client got it.
type receipt struct {
	revision int64
	at       time.Time
}

// experimentClient is the consumer of one watch, which expects some initial events and then one for
// each write.
type experimentClient struct {
	initial, total    int
	opened, delivered *sync.WaitGroup // done when the initial events, and all, have come
	receipts          []receipt
	ended             bool // by the server, before all events had come
}

// consume records a watch's events until it ends. Watches that ended early are not waited for.
func (c *experimentClient) consume(ctx context.Context, next nextRevisions) {
	reached := func(n int) bool { return len(c.receipts) >= n }
	for revisions := next(); len(revisions) > 0; revisions = next() {
		hadInitial, hadAll := reached(c.initial), reached(c.total)
		at := time.Now()
		for _, revision := range revisions {
			c.receipts = append(c.receipts, receipt{revision, at})
		}
		if !hadInitial && reached(c.initial) {
			c.opened.Done()
		}
		if !hadAll && reached(c.total) {
			c.delivered.Done()
		}
	}
	if !reached(c.initial) {
		c.opened.Done()
	}
	if !reached(c.total) {
		c.delivered.Done()
		c.ended = ctx.Err() == nil
	}
}

// compareEvents compares, in order, what was committed with what one client received.
func compareEvents(committed []int64, received []receipt) (missing, wrong int) {
	next := 0
	for _, r := range received {
		at, known := slices.BinarySearch(committed[next:], r.revision)
		if !known {
			wrong++ // late, twice or of nobody's write
			continue
		}
		missing += at
		next += at + 1
	}
	return missing + len(committed) - next, wrong
}

func TestCompareEvents(t *testing.T) {
	committed := []int64{3, 4, 5, 7, 9} // revisions of other keys lie between
	for _, row := range []struct {
		name           string
		received       []int64
		missing, wrong int
	}{
		{"everything", []int64{3, 4, 5, 7, 9}, 0, 0},
		{"nothing", nil, 5, 0},
		{"the beginning", []int64{3, 4, 5}, 2, 0},
		{"the end", []int64{7, 9}, 3, 0},
		{"a gap", []int64{3, 4, 7, 9}, 1, 0},
		{"a duplicate", []int64{3, 4, 4, 5, 7, 9}, 0, 1},
		{"everything twice", []int64{3, 4, 5, 7, 9, 3, 4, 5, 7, 9}, 0, 5},
		{"two out of order", []int64{3, 5, 4, 7, 9}, 1, 1},
		{"an event of nobody's write", []int64{3, 4, 5, 6, 7, 9}, 0, 1},
	} {
		var receipts []receipt
		for _, revision := range row.received {
			receipts = append(receipts, receipt{revision: revision})
		}
		missing, wrong := compareEvents(committed, receipts)
		require.Equal(t, row.missing, missing, "missing of %s", row.name)
		require.Equal(t, row.wrong, wrong, "wrong of %s", row.name)
	}
}

// TestWatchesOnEtcd measures every variant once, with few watches.
func TestWatchesOnEtcd(t *testing.T) {
	const watches = 20
	load := experimentLoad{rate: 50, seconds: 1, pods: 3, payload: 100, perConnection: 8}
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			f := measureOnEtcd(t, v, watches, load)
			inEtcd := watches
			if !strings.HasPrefix(v.name, "etcd") {
				inEtcd = 1
			}
			require.Equal(t, inEtcd, f.etcdWatches)
			require.Equal(t, watches*(3+50), f.expected)
			require.Zero(t, f.missing+f.wrong+f.ended)
			require.Positive(t, f.open.etcd+f.write.etcd)
			require.Positive(t, f.write.client)
			require.Greater(t, f.etcdBytes, int64(1<<20))
			require.LessOrEqual(t, f.eventP50, f.eventP99)
			require.Positive(t, f.writeP50)
		})
	}
}

// TestEndedWatchIsNotWaitedFor: what it did not deliver is missing.
func TestEndedWatchIsNotWaitedFor(t *testing.T) {
	var opened, delivered sync.WaitGroup
	opened.Add(2)
	delivered.Add(2)
	for _, ends := range []struct {
		events [][]int64
		early  bool
	}{{[][]int64{{2, 3}, {4}}, false}, {[][]int64{{2}}, true}} {
		c := experimentClient{initial: 2, total: 3, opened: &opened, delivered: &delivered}
		c.consume(t.Context(), func() []int64 {
			if len(ends.events) == 0 {
				return nil
			}
			first := ends.events[0]
			ends.events = ends.events[1:]
			return first
		})
		require.Equal(t, ends.early, c.ended)
	}
	require.True(t, within(patience, func() { opened.Wait(); delivered.Wait() }))
}
