package conformance

import (
	"context"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/model"
)

// patience bounds every wait of these tests, far above the usual time.
const patience = 30 * time.Second

// fixture is one API server over one etcd member, on the real clock. The server takes faults, and
// reports its points.
type fixture struct {
	t         testing.TB
	target    target.Target
	member    etcd.Running
	server    target.Storage
	injection target.Injection
	visits    visits
	dir       string
	nextID    int
}

func newFixture(t testing.TB, of target.Target) *fixture {
	root := t.TempDir()
	t.Chdir(root)
	f := &fixture{t: t, target: of, dir: filepath.Join(root, "data"), visits: visits{counts: map[string]int{}, gates: map[string]chan struct{}{}}}
	var err error
	f.member, err = etcd.Start(etcd.Config{
		Release: f.target.Etcd(), Name: "etcd-0", Dir: f.dir, Cluster: []string{"etcd-0"},
		Tuning: etcd.Tuning{Tick: 5 * time.Millisecond}, ProgressNotify: 50 * time.Millisecond,
	})
	require.NoError(t, err)
	t.Cleanup(f.member.Stop)
	select {
	case <-f.member.Ready():
	case <-time.After(patience):
		require.FailNow(t, "etcd never became ready")
	}
	f.server = f.start(target.ServerConfig{Reached: f.visits.reached, Injection: &f.injection})
	return f
}

// start starts another API server and waits for its cache.
func (f *fixture) start(config target.ServerConfig) target.Storage {
	config.Name, config.Endpoints = "apiserver-0", []string{etcd.ClientURL("etcd-0")}
	started, err := f.target.Start(config)
	require.NoError(f.t, err)
	f.t.Cleanup(started.Stop)
	server := started.(target.Storage)
	f.waitInitialised(server)
	return server
}

func (f *fixture) waitInitialised(server target.Storage) {
	require.Eventually(f.t, func() bool {
		op := &model.Operation{Kind: model.List, RV: 0}
		server.Do(f.context(), op, "")
		return op.Err == model.OK
	}, patience, time.Millisecond, "the cache never initialised")
}

func (f *fixture) context() context.Context {
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	f.t.Cleanup(cancel)
	return ctx
}

// do performs op and requires the given outcome.
func (f *fixture) do(want model.Code, op model.Operation) *model.Operation {
	f.t.Helper()
	result, _ := f.page(want, op, "")
	return result
}

func (f *fixture) page(want model.Code, op model.Operation, token string) (*model.Operation, string) {
	f.t.Helper()
	f.nextID++
	op.ID, op.Client = f.nextID, "client"
	next := f.server.Do(f.context(), &op, token)
	require.Equal(f.t, want, op.Err, op.Message)
	return &op, next
}

func object(namespace, name, value string) *model.Object {
	return &model.Object{Namespace: namespace, Name: name, Value: value}
}

func (f *fixture) create(object *model.Object) model.Object {
	f.t.Helper()
	return f.do(model.OK, model.Operation{Kind: model.Create, Object: object}).Objects[0]
}

func (f *fixture) update(object *model.Object) model.Object {
	f.t.Helper()
	return f.do(model.OK, model.Operation{Kind: model.Update, Object: object}).Objects[0]
}

func (f *fixture) delete(namespace, name string) int64 {
	f.t.Helper()
	return f.do(model.OK, model.Operation{Kind: model.Delete, Scope: model.Scope{Namespace: namespace, Name: name}}).ResultRV
}

// end reads a watch to its end, and returns the reason.
func end(w target.Watch) model.CloseReason {
	for {
		if _, reason, ok := w.Next(); !ok {
			return reason
		}
	}
}

func testStopReleasesEverything(t *testing.T, f *fixture) {
	f.create(object("n", "a", "1"))
	before := ourGoroutines()
	server := f.start(target.ServerConfig{})
	var watches []target.Watch
	for range 3 {
		watches = append(watches, server.Watch(t.Context(), &model.Stream{RV: 0, Bookmarks: true}))
	}
	informer := f.target.NewInformer(server, model.Scope{}, ignore)
	stop := running(t, informer)
	require.Eventually(t, func() bool { return len(informer.Objects()) == 1 }, patience, time.Millisecond)
	require.Greater(t, ourGoroutines(), before)

	stop()
	server.Stop()
	server.Stop()
	for _, w := range watches {
		require.Equal(t, model.ClosedByServer, end(w))
	}
	// Goroutines that Stop does not wait for end by themselves.
	require.Eventually(t, func() bool { return ourGoroutines() <= before }, patience, time.Millisecond,
		"goroutines are left after Stop")

	op := &model.Operation{Kind: model.List, RV: 0}
	server.Do(t.Context(), op, "")
	require.Equal(t, model.Unavailable, op.Err)
	stream := &model.Stream{RV: 0}
	require.Nil(t, server.Watch(t.Context(), stream))
	require.Equal(t, model.Unavailable, stream.Err)
}

// ourGoroutines counts the goroutines of this process's servers, clients and informers, without
// those of etcd and the tests.
func ourGoroutines() int {
	buffer := make([]byte, 4<<20)
	count := 0
	for stack := range strings.SplitSeq(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
		if strings.Contains(stack, "k8s.io/") || strings.Contains(stack, "etcd/client/v3") ||
			strings.Contains(stack, "transport.(*http2Client)") ||
			strings.Contains(stack, "cluster/target/apiserver.(*") || strings.Contains(stack, "watchsim/cacher.(*") {
			count++
		}
	}
	return count
}

func testBreakWatchInitialisesTheCacheAgain(t *testing.T, f *fixture) {
	rv := f.create(object("n", "a", "1")).RV
	w := f.watch(model.Stream{RV: rv, Bookmarks: true, InitialEvents: true})
	require.Equal(t, model.Added, f.next(w).Type)

	f.server.BreakWatch(faults.WatchExpired)
	require.Equal(t, model.ClosedByServer, end(w))

	f.waitInitialised(f.server)
	rv = f.update(object("n", "a", "2")).RV
	got := f.do(model.OK, model.Operation{Kind: model.Get, Scope: model.Scope{Namespace: "n", Name: "a"}, RV: rv})
	require.Equal(t, "2", got.Objects[0].Value)
	f.server.BreakWatch(faults.WatchExpired)
	f.server.BreakWatch(faults.WatchExpired)
	f.waitInitialised(f.server)
}

func testReplacedStorageServesWhatIsNewAndEndsWhatIsOld(t *testing.T, f *fixture) {
	replacer, can := f.server.(target.Replacer)
	if !can {
		t.Skip("an old release")
	}
	rv := f.create(object("n", "a", "1")).RV
	old := f.watch(model.Stream{RV: rv})
	require.NoError(t, replacer.ReplaceStorage())
	f.waitInitialised(f.server)

	resumed := f.watch(model.Stream{RV: rv})
	rv = f.update(object("n", "a", "2")).RV
	require.Equal(t, rv, f.next(resumed).RV)
	require.Equal(t, model.ClosedByServer, end(old))
	if counter, counts := f.server.(target.Counter); counts && counter.Watchers() != model.Uncounted {
		require.Equal(t, 1, counter.Watchers())
	}
	resumed.Stop()

	// The first storage may have fewer than one that has served for a while.
	before := settledGoroutines()
	require.NoError(t, replacer.ReplaceStorage())
	f.waitInitialised(f.server)
	require.Eventually(t, func() bool { return ourGoroutines() <= before }, patience, 10*time.Millisecond,
		"goroutines of the old storage are left")
}

// settledGoroutines returns the number of goroutines once it has not changed for longer than an old
// storage takes to stop.
func settledGoroutines() int {
	count, since := ourGoroutines(), time.Now()
	for time.Since(since) < 3*time.Second {
		time.Sleep(10 * time.Millisecond)
		if now := ourGoroutines(); now != count {
			count, since = now, time.Now()
		}
	}
	return count
}

func testStartFailsWithoutEndpoints(t *testing.T, f *fixture) {
	_, err := f.target.Start(target.ServerConfig{Name: "apiserver-0"})
	require.ErrorContains(t, err, `"apiserver-0"`)
}

func benchmarkStart(b *testing.B, f *fixture) {
	for b.Loop() {
		server, err := f.target.Start(target.ServerConfig{Endpoints: []string{etcd.ClientURL("etcd-0")}})
		require.NoError(b, err)
		f.waitInitialised(server.(target.Storage))
		server.Stop()
	}
}

func benchmarkUpdate(b *testing.B, f *fixture) {
	f.create(object("n", "a", "0"))
	w := f.server.Watch(b.Context(), &model.Stream{RV: 0, Bookmarks: true})
	for b.Loop() {
		rv := f.update(object("n", "a", time.Now().String())).RV
		for f.next(w).RV != rv {
		}
	}
}

func benchmarkList(b *testing.B, f *fixture) {
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		f.create(object("n", name, "0"))
	}
	for b.Loop() {
		f.do(model.OK, model.Operation{Kind: model.List, RV: 0})
	}
}
