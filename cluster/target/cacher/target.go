// Package cacher is the target that runs the project's own watch cache.
package cacher

import (
	"reflect"
	"sync"

	upstream "k8s.io/apiserver/pkg/storage/cacher"

	"github.com/watchsim/watchsim/cacher"
	"github.com/watchsim/watchsim/cacher/decorator"
	"github.com/watchsim/watchsim/cluster/etcd/current"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver"
	"github.com/watchsim/watchsim/cluster/target/httpserver"
	"github.com/watchsim/watchsim/model"
)

// New returns the target.
func New() target.Target { return apiserver.New("cacher", current.Release{}, newCache) }

// newCache starts the cache with the settings of Kubernetes' cacher and defaults for
// the rest.
func newCache(settings upstream.Config, server target.ServerConfig) (apiserver.Cache, error) {
	cache, err := cacher.New(cacher.Config{
		Storage:             settings.Storage,
		Versioner:           settings.Versioner,
		GroupResource:       settings.GroupResource,
		EventsHistoryWindow: settings.EventsHistoryWindow,
		ResourcePrefix:      settings.ResourcePrefix,
		KeyFunc:             settings.KeyFunc,
		GetAttrsFunc:        settings.GetAttrsFunc,
		IndexerFuncs:        settings.IndexerFuncs,
		Indexers:            settings.Indexers,
		NewFunc:             settings.NewFunc,
		NewListFunc:         settings.NewListFunc,
		Codec:               settings.Codec,
		BookmarkPeriod:      server.BookmarkPeriod,
		MinEvents:           server.WindowEvents,
		MaxEvents:           server.WindowEvents,
	})
	if err != nil {
		return apiserver.Cache{}, err
	}
	return apiserver.Cache{Storage: cache, Watchers: cache.Watchers, Window: windowOf(cache), Stop: cache.Stop}, nil
}

// NewWeb returns API servers that serve HTTP, with this cache.
func NewWeb(options httpserver.Options) target.Servers {
	options.Cache = decorator.StorageWithCacher(decorator.Options{})
	return httpserver.New(options)
}

// windowOf returns access to a cache's window. A method of the cache would have to wait
// for its lock, which an observer must not.
func windowOf(c *cacher.Cacher) apiserver.Window {
	state := reflect.ValueOf(c).Elem().FieldByName("state").Elem()
	phase, generation := state.FieldByName("readiness").FieldByName("phase"), state.FieldByName("readiness").FieldByName("generation")
	newest, since := state.FieldByName("rv"), state.FieldByName("log").Elem().FieldByName("floor")
	const ready = 1 // phaseReady
	return apiserver.Window{
		Locks: []*sync.RWMutex{(*sync.RWMutex)(state.FieldByName("mu").Addr().UnsafePointer())},
		See: func() (filling int, window model.Window) {
			if phase.Int() != ready {
				return 0, model.Window{}
			}
			return int(generation.Int()), model.Window{Since: int64(since.Uint()), Newest: int64(newest.Uint())}
		},
	}
}
