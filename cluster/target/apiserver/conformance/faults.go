package conformance

import (
	"context"
	"sync"
	"sync/atomic"
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

func testPointsAreReached(t *testing.T, f *fixture) {
	for _, point := range []string{faults.PointList, faults.PointListed} {
		require.Positive(t, f.visits.count(point), point)
	}
	for _, point := range []string{faults.PointWatchLost, faults.PointDeletion, faults.PointRevision, faults.PointProgress} {
		require.Zero(t, f.visits.count(point), point)
	}

	lists, rv := f.visits.count(faults.PointList), f.create(object("n", "a", "1")).RV
	next := f.follow(rv)
	rv = f.delete("n", "a")
	require.Equal(t, []int64{rv}, next(1))
	require.Equal(t, 1, f.visits.count(faults.PointDeletion))
	require.NotNil(t, f.server.Watch(f.context(), &model.Stream{RV: model.RVUnset}))
	require.Positive(t, f.visits.count(faults.PointRevision))
	require.Equal(t, lists, f.visits.count(faults.PointList), "what clients list is not what the cache lists")

	watches := f.visits.count(faults.PointWatch)
	f.server.BreakWatch(faults.WatchClosed)
	require.Eventually(t, func() bool { return f.visits.count(faults.PointWatch) > watches }, patience, time.Millisecond)
	require.Equal(t, 1, f.visits.count(faults.PointWatchLost))
	require.Equal(t, lists, f.visits.count(faults.PointList), "the cache goes on from where it was")

	// Only a progress request tells the cache of this revision, as it changes another
	// resource.
	require.NoError(t, f.member.Put(f.context(), "/registry/leases/a", "1"))
	f.do(model.OK, model.Operation{Kind: model.List, RV: model.RVUnset})
	require.Positive(t, f.visits.count(faults.PointProgress))
}

func testTheCacheWaitsAtAPoint(t *testing.T, f *fixture) {
	for _, point := range []string{faults.PointWatchLost, faults.PointList, faults.PointListed} {
		f := newFixture(t, f.target)
		rv := f.create(object("n", "a", "1")).RV
		open := f.visits.shut(point)
		before := f.visits.count(point)
		f.server.BreakWatch(faults.WatchExpired)
		require.Eventually(t, func() bool { return f.visits.count(point) > before }, patience, time.Millisecond, point)

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

func testAnUpstreamWatchThatEndsIsResumed(t *testing.T, f *fixture) {
	for _, how := range []faults.WatchEnd{faults.WatchClosed, faults.WatchFailed} {
		f := newFixture(t, f.target)
		rv := f.create(object("n", "a", "0")).RV
		// The cache may re-establish the watch or relist.
		again := func() int { return f.visits.count(faults.PointWatch) + f.visits.count(faults.PointListed) }
		before, lost := again(), f.visits.count(faults.PointWatchLost)
		f.server.BreakWatch(how)
		require.Eventually(t, func() bool { return again() > before }, patience, time.Millisecond, how)
		require.Greater(t, f.visits.count(faults.PointWatchLost), lost, how)
		next := f.follow(rv)
		var want []int64
		for _, value := range []string{"1", "2", "3"} {
			want = append(want, f.update(object("n", "a", value)).RV)
		}
		require.Equal(t, want, next(len(want)), how)
	}
}

func testTheCacheRecoversFromFailedLists(t *testing.T, f *fixture) {
	rv := f.create(object("n", "a", "1")).RV
	f.injection.Lists.Store(true)
	lists, listed := f.visits.count(faults.PointList), f.visits.count(faults.PointListed)
	f.server.BreakWatch(faults.WatchExpired)
	require.Eventually(t, func() bool { return f.visits.count(faults.PointList) >= lists+2 }, patience, time.Millisecond)
	require.Equal(t, listed, f.visits.count(faults.PointListed))
	f.injection.Lists.Store(false)
	require.Eventually(t, func() bool { return f.visits.count(faults.PointListed) > listed }, patience, time.Millisecond)
	f.waitInitialised(f.server)
	got := f.do(model.OK, model.Operation{Kind: model.Get, Scope: model.Scope{Namespace: "n", Name: "a"}, RV: rv})
	require.Equal(t, "1", got.Objects[0].Value)
}

// testValuesThatCannotBeReadAreNotPassedOver writes values that the cache cannot read
// for a while.
func testValuesThatCannotBeReadAreNotPassedOver(t *testing.T, f *fixture) {
	for _, failing := range []func(*target.Injection) *atomic.Bool{
		func(injection *target.Injection) *atomic.Bool { return &injection.Decoding },
		func(injection *target.Injection) *atomic.Bool { return &injection.Transforming },
	} {
		f := newFixture(t, f.target)
		want := []int64{f.create(object("n", "a", "0")).RV}
		next := f.follow(want[0] - 1)
		require.Equal(t, want, next(1))

		lost := f.visits.count(faults.PointWatchLost)
		failing(&f.injection).Store(true)
		written := f.writeBehind(object("n", "b", "1"))
		require.Eventually(t, func() bool { return f.visits.count(faults.PointWatchLost) > lost }, patience, time.Millisecond)
		failing(&f.injection).Store(false)
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

func testWhatExpiresIsDeleted(t *testing.T, f *fixture) {
	stays := f.create(object("n", "stays", "1"))
	f.injection.TTL.Store(1)
	updated := f.update(object("n", "stays", "2"))
	created := f.create(object("n", "goes", "1"))
	f.injection.TTL.Store(0)
	kept := f.update(object("n", "stays", "3"))
	next := f.follow(stays.RV)
	got := next(4)
	require.Equal(t, []int64{updated.RV, created.RV, kept.RV}, got[:3])
	require.Greater(t, got[3], kept.RV)
	f.do(model.NotFound, model.Operation{Kind: model.Get, Scope: model.Scope{Namespace: "n", Name: "goes"}, RV: model.RVUnset})
	f.do(model.OK, model.Operation{Kind: model.Get, Scope: model.Scope{Namespace: "n", Name: "stays"}, RV: model.RVUnset})
}
