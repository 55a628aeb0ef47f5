package conformance

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/faults"
	"github.com/watchsim/watchsim/model"
)

// visits counts the points that a server has reached, and can block it at one.
type visits struct {
	mu     sync.Mutex
	counts map[string]int
	gates  map[string]chan struct{}
}

func newVisits() *visits {
	return &visits{counts: map[string]int{}, gates: map[string]chan struct{}{}}
}

func (v *visits) reached(ctx context.Context, point string) {
	v.mu.Lock()
	v.counts[point]++
	gate := v.gates[point]
	v.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
		}
	}
}

func (v *visits) count(point string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.counts[point]
}

// shut blocks every operation that reaches the point from now on, until open is called.
func (v *visits) shut(point string) (open func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	gate := make(chan struct{})
	v.gates[point] = gate
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.gates, point)
		close(gate)
	}
}

// newFaultyFixture returns a fixture whose server takes faults and reports its points.
func newFaultyFixture(t *testing.T, newTarget func() target.Target) (*fixture, *target.Injection, *visits) {
	f := newFixture(t, newTarget)
	injection, visits := &target.Injection{}, newVisits()
	f.server = f.start(target.ServerConfig{Reached: visits.reached, Injection: injection})
	return f, injection, visits
}

// follow watches from after rv, resumes if the server ends the stream, and returns a
// function that reads the RVs of the next events.
func (f *fixture) follow(rv int64) (next func(count int) []int64) {
	f.t.Helper()
	ctx := f.context()
	open := func() (watch target.Watch) {
		require.Eventually(f.t, func() bool {
			watch = f.server.Watch(ctx, &model.Stream{RV: rv})
			return watch != nil
		}, patience, time.Millisecond, "no watch from RV %d could be opened", rv)
		return watch
	}
	watch := open()
	return func(count int) (rvs []int64) {
		f.t.Helper()
		for len(rvs) < count {
			event, reason, ok := watch.Next()
			if !ok {
				require.Equal(f.t, model.ClosedByServer, reason)
				watch = open()
				continue
			}
			require.NotEqual(f.t, model.Error, event.Type, event.Message)
			rv = event.RV
			rvs = append(rvs, rv)
		}
		return rvs
	}
}

func testPointsAreReached(t *testing.T, newTarget func() target.Target) {
	f, _, visits := newFaultyFixture(t, newTarget)
	for _, point := range []string{faults.PointList, faults.PointListed} {
		require.Positive(t, visits.count(point), point)
	}
	for _, point := range []string{faults.PointWatchLost, faults.PointDeletion, faults.PointRevision, faults.PointProgress} {
		require.Zero(t, visits.count(point), point)
	}

	lists, rv := visits.count(faults.PointList), f.create(object("n", "a", "1")).RV
	next := f.follow(rv)
	rv = f.delete("n", "a")
	require.Equal(t, []int64{rv}, next(1))
	require.Equal(t, 1, visits.count(faults.PointDeletion))
	require.NotNil(t, f.server.Watch(f.context(), &model.Stream{RV: model.RVUnset}))
	require.Positive(t, visits.count(faults.PointRevision))
	require.Equal(t, lists, visits.count(faults.PointList), "what clients list is not what the cache lists")

	watches := visits.count(faults.PointWatch)
	f.server.BreakWatch(faults.WatchClosed)
	require.Eventually(t, func() bool { return visits.count(faults.PointWatch) > watches }, patience, time.Millisecond)
	require.Equal(t, 1, visits.count(faults.PointWatchLost))
	require.Equal(t, lists, visits.count(faults.PointList), "the cache goes on from where it was")

	// Only a progress request tells the cache of this revision, as it changes another
	// resource.
	require.NoError(t, f.member.Put(f.context(), "/registry/leases/a", "1"))
	f.do(model.OK, model.Operation{Kind: model.List, RV: model.RVUnset})
	require.Positive(t, visits.count(faults.PointProgress))
}

func testTheCacheWaitsAtAPoint(t *testing.T, newTarget func() target.Target) {
	for _, point := range []string{faults.PointWatchLost, faults.PointList, faults.PointListed} {
		f, _, visits := newFaultyFixture(t, newTarget)
		rv := f.create(object("n", "a", "1")).RV
		open := visits.shut(point)
		before := visits.count(point)
		f.server.BreakWatch(faults.WatchExpired)
		require.Eventually(t, func() bool { return visits.count(point) > before }, patience, time.Millisecond, point)

		f.writeBehind(object("n", "b", "1"))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		behind := &model.Operation{Kind: model.List, RV: rv + 1, Match: model.MatchNotOlderThan}
		f.server.Do(ctx, behind, "")
		cancel()
		require.NotEqual(t, model.OK, behind.Err, "%s: the cache cannot know what is written while it waits", point)

		open()
		require.Eventually(t, func() bool {
			now := &model.Operation{Kind: model.List, RV: rv + 1, Match: model.MatchNotOlderThan}
			f.server.Do(f.context(), now, "")
			return now.Err == model.OK && len(now.Objects) == 2
		}, patience, time.Millisecond, point)
	}
}

func testAnUpstreamWatchThatEndsIsResumed(t *testing.T, newTarget func() target.Target) {
	for _, how := range []faults.WatchEnd{faults.WatchClosed, faults.WatchFailed} {
		f, _, visits := newFaultyFixture(t, newTarget)
		rv := f.create(object("n", "a", "0")).RV
		// The cache may re-establish the watch or relist.
		again := func() int { return visits.count(faults.PointWatch) + visits.count(faults.PointListed) }
		before, lost := again(), visits.count(faults.PointWatchLost)
		f.server.BreakWatch(how)
		require.Eventually(t, func() bool { return again() > before }, patience, time.Millisecond, how)
		require.Greater(t, visits.count(faults.PointWatchLost), lost, how)
		next := f.follow(rv)
		var want []int64
		for _, value := range []string{"1", "2", "3"} {
			want = append(want, f.update(object("n", "a", value)).RV)
		}
		require.Equal(t, want, next(len(want)), how)
	}
}

func testTheCacheRecoversFromFailedLists(t *testing.T, newTarget func() target.Target) {
	f, injection, visits := newFaultyFixture(t, newTarget)
	rv := f.create(object("n", "a", "1")).RV
	injection.Lists.Store(true)
	lists, listed := visits.count(faults.PointList), visits.count(faults.PointListed)
	f.server.BreakWatch(faults.WatchExpired)
	require.Eventually(t, func() bool { return visits.count(faults.PointList) >= lists+2 }, patience, time.Millisecond)
	require.Equal(t, listed, visits.count(faults.PointListed))
	injection.Lists.Store(false)
	require.Eventually(t, func() bool { return visits.count(faults.PointListed) > listed }, patience, time.Millisecond)
	f.waitInitialised(f.server)
	got := f.do(model.OK, model.Operation{Kind: model.Get, Scope: model.Scope{Namespace: "n", Name: "a"}, RV: rv})
	require.Equal(t, "1", got.Objects[0].Value)
}

// testValuesThatCannotBeReadAreNotPassedOver writes values that the cache cannot read
// for a while.
func testValuesThatCannotBeReadAreNotPassedOver(t *testing.T, newTarget func() target.Target) {
	for _, fail := range []func(*target.Injection, bool){
		func(injection *target.Injection, fails bool) { injection.Decoding.Store(fails) },
		func(injection *target.Injection, fails bool) { injection.Transforming.Store(fails) },
	} {
		f, injection, visits := newFaultyFixture(t, newTarget)
		want := []int64{f.create(object("n", "a", "0")).RV}
		next := f.follow(want[0] - 1)
		require.Equal(t, want, next(1))

		lost := visits.count(faults.PointWatchLost)
		fail(injection, true)
		written := f.writeBehind(object("n", "b", "1"))
		require.Eventually(t, func() bool { return visits.count(faults.PointWatchLost) > lost }, patience, time.Millisecond)
		fail(injection, false)
		require.Equal(t, []int64{written}, next(1))
	}
}

// writeBehind writes through a server other than the fixture's own.
func (f *fixture) writeBehind(object *model.Object) int64 {
	f.t.Helper()
	own := f.server
	defer func() { f.server = own }()
	f.server = f.start(target.ServerConfig{})
	return f.create(object).RV
}

func testWhatExpiresIsDeleted(t *testing.T, newTarget func() target.Target) {
	f, injection, _ := newFaultyFixture(t, newTarget)
	stays := f.create(object("n", "stays", "1"))
	injection.TTL.Store(1)
	updated := f.update(object("n", "stays", "2"))
	created := f.create(object("n", "goes", "1"))
	injection.TTL.Store(0)
	kept := f.update(object("n", "stays", "3"))
	next := f.follow(stays.RV)
	got := next(4)
	require.Equal(t, []int64{updated.RV, created.RV, kept.RV}, got[:3])
	require.Greater(t, got[3], kept.RV)
	f.do(model.NotFound, model.Operation{Kind: model.Get, Scope: model.Scope{Namespace: "n", Name: "goes"}, RV: model.RVUnset})
	f.do(model.OK, model.Operation{Kind: model.Get, Scope: model.Scope{Namespace: "n", Name: "stays"}, RV: model.RVUnset})
}
