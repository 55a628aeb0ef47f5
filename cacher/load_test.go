package cacher

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

// holding makes a store hold pods, at RVs from 2 on, before a cache starts.
func (f *fakeStore) holding(names ...string) {
	for i, name := range names {
		pod := newTestPod(name)
		pod.ResourceVersion = fmt.Sprint(i + 2)
		f.pods = append(f.pods, *pod)
	}
	f.rv = uint64(len(names) + 1)
	f.listRV = f.rv
}

// A storage that streams its objects is not listed, and the same watch continues. Any other is
// listed, and watched from there.
func TestHowTheObjectsAreLoaded(t *testing.T) {
	for name, row := range map[string]struct {
		streams, gate bool
		lists         int
	}{
		"streamed":                      {true, true, 0},
		"listed, as streams are off":    {true, false, 1},
		"listed, as the stream failed":  {false, true, 1},
		"listed, as there is no stream": {false, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.WatchList, row.gate)
			c, store := newFakeFixture(t, func(s *setup) {
				store := s.config.Storage.(*fakeStore)
				store.streams = row.streams
				store.holding("a", "b")
			})
			w := open(t, c, from("0"))
			require.Equal(t, "ADDED a 2", next(t, w))
			require.Equal(t, "ADDED b 3", next(t, w))
			store.send(watch.Modified, 4, newTestPod("b"))
			require.Equal(t, "MODIFIED b 4", next(t, w))
			store.mu.Lock()
			defer store.mu.Unlock()
			require.Equal(t, row.lists, store.lists)
			require.Equal(t, 1, store.watches, "the cache has one watch of the storage")
		})
	}
}

// Pages that expire during the list do not keep a cache from starting.
func TestAListWhosePagesExpireIsTakenAtOnce(t *testing.T) {
	c, store := newFakeFixture(t, func(s *setup) {
		store := s.config.Storage.(*fakeStore)
		for range listPageSize + 1 {
			store.pods = append(store.pods, *newTestPod(fmt.Sprintf("pod-%d", len(store.pods))))
		}
		store.listErrors = []error{nil, apierrors.NewResourceExpired("compacted")}
	})
	require.Equal(t, 3, store.lists)
	require.Equal(t, listPageSize+1, c.state.tree.objects.Len())
}

// What cannot be processed ends an attempt with a reason that the cache reports to clients, and the
// next attempt may succeed.
func TestWhatCannotBeTakenIn(t *testing.T) {
	var healed atomic.Bool
	for name, spoil := range map[string]func(*Config){
		"the list fails": func(c *Config) { c.Storage.(*fakeStore).listErrors = []error{errFailing} },
		"an object without a key": func(c *Config) {
			c.KeyFunc = func(object runtime.Object) (string, error) {
				if healed.Load() {
					return keyOfPod(object)
				}
				return "", errFailing
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			healed.Store(false)
			store, clock := newFakeStore(), clocktesting.NewFakeClock(time.Now())
			store.holding("a")
			config := podConfig(store)
			config.Clock = clock
			spoil(&config)
			c, err := New(config)
			require.NoError(t, err)
			defer c.Stop()
			require.Eventually(t, func() bool {
				_, err := c.Watch(t.Context(), podPrefix, allPods("0"))
				return apierrors.IsTooManyRequests(err) && strings.Contains(err.Error(), errFailing.Error())
			}, patience, time.Millisecond)
			healed.Store(true)
			require.Eventually(t, func() bool { clock.Step(time.Second); return c.Ready() }, patience, time.Millisecond)
			require.NoError(t, c.Get(t.Context(), "/pods/n/a", storage.GetOptions{ResourceVersion: "0"}, newPod()))
		})
	}
}
