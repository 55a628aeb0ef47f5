package server

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	v1 "github.com/watchsim/watchsim/cacher/examples/apiserver/api/v1"

	"github.com/watchsim/watchsim/cacher/decorator"
)

// WatchCache selects what serves lists and watches. It is the value of a flag.
type WatchCache string

// The watch caches.
const (
	Watchsim   WatchCache = "watchsim"   // the cache of this project
	Kubernetes WatchCache = "kubernetes" // the cache of k8s.io/apiserver
	Off        WatchCache = "off"        // none: each request reaches etcd
)

// Set implements pflag.Value.
func (c *WatchCache) Set(value string) error {
	switch WatchCache(value) {
	case Watchsim, Kubernetes, Off:
		*c = WatchCache(value)
		return nil
	}
	return fmt.Errorf("expected %s, %s or %s, found %q", Watchsim, Kubernetes, Off, value)
}

// String implements pflag.Value.
func (c *WatchCache) String() string { return string(*c) }

// Type implements pflag.Value: it stands for a value in the help text.
func (c *WatchCache) Type() string { return "cache" }

// decorator returns the decorator of resources' storage. An API server that has chosen a cache
// needs only one of these lines.
func (c WatchCache) decorator(sizes decorator.Sizes) generic.StorageDecorator {
	switch c {
	case Watchsim:
		return decorator.StorageWithCacher(decorator.Options{Sizes: sizes})
	case Kubernetes:
		return genericregistry.StorageWithCacher()
	}
	return generic.UndecoratedStorage
}

// decorated is a RESTOptionsGetter with another decorator.
type decorated struct {
	generic.RESTOptionsGetter
	cache WatchCache
	sizes decorator.Sizes
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (d decorated) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := d.RESTOptionsGetter.GetRESTOptions(resource, example)
	if err != nil {
		return generic.RESTOptions{}, err
	}
	cache := d.cache
	if size, given := d.sizes[resource]; given && size == 0 {
		cache = Off
	}
	options.Decorator = cache.decorator(d.sizes)
	return options, nil
}

// parseSizes parses --watch-cache-sizes. The group is optional, as this server has only one.
func parseSizes(settings []string) (decorator.Sizes, error) {
	given, err := decorator.ParseSizes(settings)
	if err != nil {
		return nil, err
	}
	sizes := decorator.Sizes{}
	for resource, size := range given {
		if resource.Group == "" {
			resource.Group = v1.GroupVersion.Group
		}
		if resource != v1.Resource.GroupResource() {
			return nil, fmt.Errorf("expected the watch cache size of %s, the only resource of this server, found %s#%d", v1.Resource.Resource, resource, size)
		}
		sizes[resource] = size
	}
	return sizes, nil
}
