// Package kubernetes is the target that runs Kubernetes' own watch cache,
// k8s.io/apiserver/pkg/storage/cacher, unmodified: the cacher, and the delegator that
// decides which requests go to etcd instead.
package kubernetes

import (
	"reflect"
	"sync"

	"k8s.io/apiserver/pkg/storage/cacher"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver"
	"github.com/watchsim/watchsim/model"
)

// New returns the target, under the name by which --target selects it and over a release of etcd.
func New(name string, release etcd.Release) target.Target {
	return apiserver.New(name, release, newCache)
}

// newCache starts the cacher. It ignores the server's bookmark period: in Kubernetes'
// cacher it is a constant, one minute.
func newCache(settings cacher.Config, _ target.ServerConfig) (apiserver.Cache, error) {
	made, err := cacher.NewCacherFromConfig(settings)
	if err != nil {
		return apiserver.Cache{}, err
	}
	delegator := cacher.NewCacheDelegator(made, settings.Storage)
	return apiserver.Cache{
		Storage:  delegator,
		Watchers: func() int { return countWatchers(made) },
		Window:   windowOf(made),
		Stop: func() {
			delegator.Stop()
			made.Stop()
		},
	}, nil
}

// windowOf returns access to a cacher's window, which the cacher does not expose. It
// reads the fields from which watchCacheHistory.GetIntervalLocked serves watches. If a
// release renames them, this function panics and its test fails.
func windowOf(c *cacher.Cacher) apiserver.Window {
	all := reflect.ValueOf(c).Elem()
	cache, ready := all.FieldByName("watchCache").Elem(), all.FieldByName("ready").Elem()
	history, list := cache, cache // of Kubernetes 0.36
	if parts := cache.FieldByName("history"); parts.IsValid() {
		history, list = parts.Elem(), cache.FieldByName("storage").Elem()
	}
	listed := list.FieldByName("listResourceVersion")
	newest, state, generation := cache.FieldByName("resourceVersion"), ready.FieldByName("state"), ready.FieldByName("generation")
	events, removed := history.FieldByName("cache"), history.FieldByName("removedEventSinceRelist")
	first, end := history.FieldByName("startIndex"), history.FieldByName("endIndex")
	rv, found := events.Type().Elem().Elem().FieldByName("ResourceVersion")
	if !found {
		panic("an event of the watch cache has no ResourceVersion")
	}
	since := func() (rvBefore uint64, known bool) {
		switch {
		case listed.Uint() > 0 && !removed.Bool():
			return listed.Uint(), true
		case first.Int() < end.Int():
			oldest := events.Index(int(first.Int()) % events.Len()).Elem()
			return oldest.FieldByIndex(rv.Index).Uint() - 1, true
		}
		return 0, false
	}
	return apiserver.Window{
		Locks: []*sync.RWMutex{lockOf(cache.FieldByName("RWMutex")), lockOf(ready.FieldByName("lock"))},
		See: func() (filling int, window model.Window) {
			from, known := since()
			if state.Int() != int64(cacher.Ready) || !known {
				return 0, model.Window{}
			}
			return int(generation.Int()), model.Window{Since: int64(from), Newest: int64(newest.Uint())}
		},
	}
}

func lockOf(field reflect.Value) *sync.RWMutex { return (*sync.RWMutex)(field.Addr().UnsafePointer()) }

// countWatchers returns how many watches a cacher has registered, which the cacher does
// not expose. Reflection may inspect unexported fields as long as it does not extract
// their values. If a release renames them, this function panics and its test fails.
func countWatchers(c *cacher.Cacher) int {
	c.RLock()
	defer c.RUnlock()
	registered := reflect.ValueOf(c).Elem().FieldByName("watchers")
	total := 0
	for _, index := range []string{"allWatchers", "valueWatchers"} {
		for watchers := registered.FieldByName(index).MapRange(); watchers.Next(); {
			total += watchers.Value().Len()
		}
	}
	return total
}
