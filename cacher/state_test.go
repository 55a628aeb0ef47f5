package cacher

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/apitesting"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	etcd3testing "k8s.io/apiserver/pkg/storage/etcd3/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

// A storage that goes back in time is detected. Several keys may change at one RV.
func TestApplyRefusesToGoBack(t *testing.T) {
	for name, row := range map[string]struct {
		progress uint64 // after a change of a at RV 20
		key      string
		rv       uint64
		accepted bool
	}{
		"the next change":                        {0, "b", 21, true},
		"another key of the same transaction":    {0, "b", 20, true},
		"the same change again":                  {0, "a", 20, false},
		"an older change":                        {0, "b", 19, false},
		"a change after progress":                {30, "b", 31, true},
		"a change that progress has passed over": {30, "b", 30, false},
	} {
		empty := newTree(nil)
		s := newState(clocktesting.NewFakeClock(time.Now()), empty, limits{age: time.Hour, min: 1, max: 100})
		s.replace(empty, 10)
		change := func(key string, rv uint64) error {
			return s.apply(&event{kind: watch.Added, key: key, rv: rv, after: &element{key: key, object: newTestPod(key)}})
		}
		require.NoError(t, change("a", 20))
		s.progress(row.progress)
		err := change(row.key, row.rv)
		if row.accepted {
			require.NoError(t, err, name)
			require.Equal(t, row.rv, s.rv, name)
		} else {
			require.ErrorContains(t, err, "went back in time", name)
		}
	}
}

// After an error the cache resumes; after one that says that its place is gone, or when the storage
// goes back, it relists and ends all watches.
func TestWhenTheCacheListsAgain(t *testing.T) {
	for name, row := range map[string]struct {
		err    error
		relist bool
	}{
		"the place is gone": {apierrors.NewResourceExpired("compacted"), true},
		"no leader":         {apierrors.NewInternalError(errFailing), false},
	} {
		t.Run(name, func(t *testing.T) {
			c, store := newFakeFixture(t)
			w := open(t, c, nil)
			store.send(watch.Added, 2, newTestPod("a"))
			require.Equal(t, "ADDED a 2", next(t, w))
			b := newTestPod("b")
			b.ResourceVersion = "5"
			var status apierrors.APIStatus
			require.ErrorAs(t, row.err, &status)
			store.fail(status.Status(), 7, *b)
			store.send(watch.Modified, 8, newTestPod("b"))
			if !row.relist {
				require.Equal(t, "ADDED b 8", next(t, w))
				require.Equal(t, 1, store.lists)
				return
			}
			require.Equal(t, "closed", next(t, w))
			reach(t, c, 8)
			require.NoError(t, c.Wait(t.Context()))
			again := open(t, c, from("0"))
			require.Equal(t, "ADDED b 8", next(t, again))
			require.Equal(t, "ERROR 410", next(t, open(t, c, from("6"))))
			require.Equal(t, "MODIFIED b 8", next(t, open(t, c, from("7"))))
		})
	}
}

// If the watch keeps failing at one place although the storage answers, the cache relists:
// otherwise it would hang at one undeliverable event.
func TestAnEventThatCannotBeHadIsListed(t *testing.T) {
	c, store := newFakeFixture(t)
	b := newTestPod("b")
	b.ResourceVersion = "5"
	store.mu.Lock()
	store.broken = 1
	store.mu.Unlock()
	store.fail(apierrors.NewInternalError(errFailing).Status(), 7, *b)
	store.send(watch.Modified, 8, newTestPod("b"))
	reach(t, c, 8)
	require.Equal(t, 2, store.lists)
}

// A read at an RV that is not reached gets the error for the future, and one of a stopped cache
// does not wait.
func TestWaitFresh(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	c, store := newFakeFixture(t, onClock(clock))
	get := func(rv string) error {
		return c.Get(t.Context(), "/pods/n/a", storage.GetOptions{ResourceVersion: rv}, newPod())
	}
	asked := func(rv string) <-chan error {
		answer := make(chan error, 1)
		go func() { answer <- get(rv) }()
		require.Eventually(t, func() bool {
			c.state.mu.RLock()
			defer c.state.mu.RUnlock()
			return c.state.waiting == 1
		}, patience, time.Millisecond)
		return answer
	}
	reached := asked("2")
	store.send(watch.Added, 2, newTestPod("a"))
	require.NoError(t, <-reached)
	tooLate := asked("3")
	clock.Step(freshTimeout - 1)
	require.Empty(t, tooLate)
	clock.Step(1)
	require.True(t, storage.IsTooLargeResourceVersion(<-tooLate))
	stopped := asked("3")
	c.Stop()
	require.True(t, apierrors.IsTooManyRequests(<-stopped))
}

// TestAnObjectThatCannotBeDecoded stores an object that the cache cannot decode for a time. The
// cache must not ignore it: watches end without it, the cache is not ready, and once it is
// decodable the cache has it.
func TestAnObjectThatCannotBeDecoded(t *testing.T) {
	etcd3.TestOnlySetFatalOnDecodeError(t, false)
	codec := &failingCodec{Codec: apitesting.TestCodec(codecs, examplev1.SchemeGroupVersion)}
	f := newFixture(t, func(s *setup) { s.codec = codec })
	first, second := &example.Pod{}, newTestPod("b")
	require.NoError(t, f.Create(t.Context(), podKey(newTestPod("a")), newTestPod("a"), first, 0))
	w, err := f.Watch(t.Context(), podPrefix, allPods(first.ResourceVersion))
	require.NoError(t, err)
	t.Cleanup(w.Stop)

	f.reach(t.Context(), t, first.ResourceVersion)
	codec.on.Store(true)
	encoded, err := runtime.Encode(codec, second)
	require.NoError(t, err)
	_, err = f.server.V3Client.Put(t.Context(), etcd3testing.PathPrefix()+podKey(second), string(encoded))
	require.NoError(t, err)
	require.Equal(t, "closed", next(t, w))
	require.Eventually(t, func() bool { return f.ReadinessCheck() != nil }, patience, time.Millisecond)

	codec.on.Store(false)
	require.NoError(t, f.Wait(t.Context()))
	list := &example.PodList{}
	require.NoError(t, f.GetList(t.Context(), podPrefix, allPods("0"), list))
	require.Len(t, list.Items, 2)
	w, err = f.Watch(t.Context(), podPrefix, allPods(first.ResourceVersion))
	require.NoError(t, err)
	t.Cleanup(w.Stop)
	require.Equal(t, "ERROR 410", next(t, w), "what came in between is not in the window")
}
