//go:build watchsim

package simtest_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/watchsim/watchsim/cluster"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/cacher"
	"github.com/watchsim/watchsim/cluster/target/httpserver"
	"github.com/watchsim/watchsim/sim"
	"github.com/watchsim/watchsim/sim/isolate"
	"github.com/watchsim/watchsim/sim/simnet"
	"github.com/watchsim/watchsim/simtest"
)

// A watch storm: all watches of an API server return at once after it has restarted.
// docs/watch-storm.md measures it. It needs neither restarted programs nor an oracle, so it runs on
// the cluster below this package, with servers that have priority and fairness.

// setup is the configuration of a storm.
type setup struct {
	Cache   string        // a key of caches
	Servers int           // one of which restarts
	Watches int           // a multiple of len(watched)
	Work    time.Duration // of a server for each request
	Plain   bool          // informers begin with plain lists, as those of client-go before 0.35
}

var caches = map[string]func(time.Duration) target.Servers{
	"kubernetes": func(work time.Duration) target.Servers {
		return httpserver.New(httpserver.Options{Fair: true, Work: work})
	},
	"cacher": func(work time.Duration) target.Servers {
		return cacher.NewWeb(httpserver.Options{Fair: true, Work: work})
	},
}

const processors = httpserver.Processors

const (
	objects  = 20   // of each resource
	padding  = 1000 // bytes in each object
	warm     = 30 * time.Second
	downTime = 5 * time.Second  // of the server that restarts
	settle   = 10 * time.Second // from then on at least, until everything is counted
	patience = 5 * time.Minute  // until all informers are to be current
)

// outcome is the result of a storm.
type outcome struct {
	counted
	Rejected  float64       // requests that priority and fairness rejected
	EtcdLists float64       // lists that API servers sent to etcd
	EtcdReads float64       // range requests that etcd has served
	Current   int           // informers that are current at the end
	Half, All time.Duration // from the crash of the server until so many informers are current
	MiB       float64       // that all processes have allocated meanwhile
	Hash      uint64
}

// storm restarts one API server.
func storm(t testing.TB, s setup) outcome {
	return isolate.Answer(t, func(t testing.TB) (o outcome) {
		if s.Plain {
			simtest.ListPlainly()
		}
		limits := sim.DefaultLimits
		limits.Decisions, limits.HeapBytes = math.MaxInt64, 3<<30
		network := cluster.Network(simnet.Latency{Min: 200 * time.Microsecond, Max: 400 * time.Microsecond})
		result := isolate.InPlace(t, sim.Config{Source: sim.FromSeed(1), Limits: limits, Network: network}, func(world *sim.World) {
			world.Calm()
			c, err := cluster.Start(world, cluster.Config{Members: 1, Servers: s.Servers, Target: caches[s.Cache](s.Work), ProgressNotify: 5 * time.Second})
			require.NoError(t, err)
			r := &runner{setup: s, t: t, world: world, cluster: c}
			r.run(&o)
			world.Settle()
		})
		o.Hash = result.Hash
		return o
	})
}

// runner is one storm.
type runner struct {
	setup
	t       testing.TB
	world   *sim.World
	cluster *cluster.Cluster
	user    dynamic.Interface
	inside  *sim.Process // the user's
	count   counter
	all     []*controller
}

func (r *runner) run(o *outcome) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	servers := cluster.ServerNames(r.Servers)
	r.inside = r.world.Process("user")
	// The server that restarts is the first one: the user reaches another one, if there is any.
	r.user = dynamic.NewForConfigOrDie(configOf("user", servers, len(servers)-1, &counter{}))
	for _, resource := range watched {
		for i := range objects {
			r.create(ctx, resource, i)
		}
	}
	for i := range r.Watches / len(watched) {
		one := &controller{now: r.world.Now}
		r.all = append(r.all, one)
		name := fmt.Sprintf("system:serviceaccount:load:controller-%d", i)
		r.world.Process(fmt.Sprintf("controller-%d", i)).Do(func() {
			require.NoError(r.t, one.run(ctx, configOf(name, servers, i, &r.count)))
		})
	}
	r.until("all informers have begun", func() int { return r.sum((*controller).full) })
	r.write(ctx, warm)
	before := r.measured()

	began := r.world.Now()
	r.count.on = true
	require.NoError(r.t, r.cluster.Servers()[0].Crash())
	go func() {
		time.Sleep(downTime)
		_ = r.cluster.Servers()[0].Start()
	}()
	for _, resource := range watched {
		r.patch(ctx, resource, 0, marker)
	}
	r.until("all informers are current", func() int { return r.sum(func(c *controller) int { return len(c.current()) }) })
	time.Sleep(max(0, downTime+settle-(r.world.Now()-began)))
	var at []time.Duration
	for _, one := range r.all {
		at = append(at, one.current()...)
	}
	slices.Sort(at)
	o.Current, o.Half, o.All = len(at), at[len(at)/2]-began, at[len(at)-1]-began
	after := r.measured()
	o.MiB, o.EtcdLists, o.EtcdReads, o.Rejected = after.mib-before.mib, after.lists-before.lists, after.reads-before.reads, after.rejected-before.rejected
	o.counted = r.count.counted
	r.check(ctx)
}

// sum sums a value over all controllers.
func (r *runner) sum(of func(*controller) int) (total int) {
	for _, one := range r.all {
		total += of(one)
	}
	return total
}

// until waits until the count reaches the number of watches.
func (r *runner) until(what string, count func() int) {
	for began := r.world.Now(); count() < r.Watches; time.Sleep(100 * time.Millisecond) {
		if r.world.Now()-began > patience {
			require.Failf(r.t, "expected that "+what, "found %d of %d after %v", count(), r.Watches, patience)
		}
	}
}

// retried repeats a request of the user until it succeeds.
func (r *runner) retried(request func() error) {
	r.inside.Do(func() {
		began := r.world.Now()
		for err := request(); err != nil; err = request() {
			if r.world.Now()-began > time.Minute {
				panic(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
}

func (r *runner) of(resource resource) dynamic.ResourceInterface {
	return r.user.Resource(resource.GroupVersionResource).Namespace("load")
}

func objectName(i int) string { return fmt.Sprintf("object-%d", i) }

func (r *runner) create(ctx context.Context, resource resource, i int) {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(resource.GroupVersion().String())
	object.SetKind(resource.kind)
	object.SetName(objectName(i))
	object.SetAnnotations(map[string]string{"padding": strings.Repeat("x", padding)})
	r.retried(func() error {
		_, err := r.of(resource).Create(ctx, object, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}

// patch sets an annotation of an object.
func (r *runner) patch(ctx context.Context, resource resource, i int, annotation string) {
	body := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, annotation, r.world.Now())
	r.retried(func() error {
		_, err := r.of(resource).Patch(ctx, objectName(i), types.MergePatchType, body, metav1.PatchOptions{})
		return err
	})
}

// write changes objects of the first half of the resources for a time, five a second. The informers
// of the others get no events, and learn of progress only from bookmarks.
func (r *runner) write(ctx context.Context, span time.Duration) {
	began := r.world.Now()
	for i := 0; r.world.Now()-began < span; i++ {
		r.patch(ctx, watched[i%(len(watched)/2)], i%objects, "written")
		time.Sleep(200 * time.Millisecond)
	}
}

// check compares all informers with what the servers list.
func (r *runner) check(ctx context.Context) {
	var newest []map[string]string
	for _, resource := range watched {
		r.retried(func() error {
			list, err := r.of(resource).List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			versions := map[string]string{}
			for _, item := range list.Items {
				versions[item.GetName()] = item.GetResourceVersion()
			}
			newest = append(newest, versions)
			return nil
		})
	}
	for _, one := range r.all {
		require.NoError(r.t, one.check(newest))
	}
}

// figures are metrics at some time.
type figures struct {
	mib                    float64 // allocated so far, in MiB
	lists, reads, rejected float64
}

// measured reads the metrics of etcd and of the API servers, all of which share a process.
func (r *runner) measured() (f figures) {
	r.inside.Do(func() {
		f.lists = metric(legacyregistry.DefaultGatherer, "etcd_requests_total", "list")
		f.reads = metric(prometheus.DefaultGatherer, "etcd_mvcc_range_total", "")
		f.rejected = metric(legacyregistry.DefaultGatherer, "apiserver_flowcontrol_rejected_requests_total", "")
	})
	r.world.Pause(func() {
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		f.mib = float64(memory.TotalAlloc) / (1 << 20)
	})
	return f
}

// metric sums a counter over its labels; with an operation, over those that begin with it.
func metric(from prometheus.Gatherer, name, operation string) (total float64) {
	families, err := from.Gather()
	if err != nil {
		panic(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, one := range family.GetMetric() {
			counts := true
			for _, label := range one.GetLabel() {
				counts = counts && (label.GetName() != "operation" || strings.HasPrefix(label.GetValue(), operation))
			}
			if counts {
				total += one.GetCounter().GetValue() + one.GetGauge().GetValue()
			}
		}
	}
	return total
}
