// Package decorator puts the watch cache of package cacher into an API server built on
// k8s.io/apiserver: StorageWithCacher replaces registry.StorageWithCacher() as the decorator of a
// genericregistry.Store.
//
//	options.Decorator = decorator.StorageWithCacher(decorator.Options{})
package decorator

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"

	"github.com/watchsim/watchsim/cacher"
)

// Options are the settings shared by the resources of an API server.
type Options struct {
	// Sizes are the window sizes of individual resources.
	Sizes Sizes
	// DefaultSize is the window size of the others, in events; 0 means cacher.Config's default for
	// MaxEvents.
	DefaultSize int
	// SlowConsumerBudget is how far a watch may lag, as in cacher.Config.
	SlowConsumerBudget time.Duration
	// MaxWatchers is the largest number of open watches of a resource; 0 is no limit.
	MaxWatchers int
}

// StorageWithCacher returns a decorator that puts a cache over the storage of each
// resource, except for those whose window size is 0.
func StorageWithCacher(options Options) generic.StorageDecorator {
	return func(
		config *storagebackend.ConfigForResource,
		resourcePrefix string,
		keyFunc func(runtime.Object) (string, error),
		newFunc, newListFunc func() runtime.Object,
		getAttrsFunc storage.AttrFunc,
		triggers storage.IndexerFuncs,
		indexers *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
		below, destroy, err := generic.NewRawStorage(config, newFunc, newListFunc, resourcePrefix)
		if err != nil {
			return nil, nil, err
		}
		size, given := options.Sizes[config.GroupResource]
		switch {
		case !given:
			size = options.DefaultSize
		case size == 0:
			return below, destroy, nil
		}
		cached, err := cacher.New(cacher.Config{
			Storage:             below,
			Versioner:           storage.APIObjectVersioner{},
			GroupResource:       config.GroupResource,
			EventsHistoryWindow: config.EventsHistoryWindow,
			ResourcePrefix:      resourcePrefix,
			KeyFunc:             keyFunc,
			GetAttrsFunc:        getAttrsFunc,
			IndexerFuncs:        triggers,
			Indexers:            indexers,
			NewFunc:             newFunc,
			NewListFunc:         newListFunc,
			Codec:               config.Codec,
			MinEvents:           min(size, cacher.DefaultMinEvents),
			MaxEvents:           size,
			SlowConsumerBudget:  options.SlowConsumerBudget,
			MaxWatchers:         options.MaxWatchers,
		})
		if err != nil {
			destroy()
			return nil, nil, err
		}
		var once sync.Once
		return cached, func() {
			once.Do(func() {
				cached.Stop()
				destroy()
			})
		}, nil
	}
}

// Sizes are window sizes by resource: the largest number of events that a cache keeps. 0 means no
// cache.
type Sizes map[schema.GroupResource]int

// ParseSizes parses settings such as "pods#1000" and "deployments.apps#0", as in kube-apiserver's
// flag --watch-cache-sizes.
func ParseSizes(settings []string) (Sizes, error) {
	sizes := Sizes{}
	for _, setting := range settings {
		resource, number, found := strings.Cut(setting, "#")
		size, err := strconv.Atoi(number)
		if !found || resource == "" || err != nil || size < 0 {
			return nil, fmt.Errorf("expected a window size as in pods#1000 or deployments.apps#0, found %q", setting)
		}
		sizes[schema.ParseGroupResource(resource)] = size
	}
	return sizes, nil
}
