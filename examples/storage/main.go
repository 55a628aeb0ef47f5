// Command storage runs a storage.Interface of your own in the simulation, with all features of
// simrun: `go run . --seed 1`, `go run . --seeds 1-100 --target careless`.
package main

import (
	"context"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"

	"github.com/watchsim/watchsim/cluster/etcd/current"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver"
	"github.com/watchsim/watchsim/simrun"
)

func main() {
	simrun.Main(
		simrun.Target{Name: "direct", Summary: "asks etcd for everything", New: func() target.Target {
			return apiserver.New("direct", current.Release{}, func(settings cacher.Config, _ target.ServerConfig) (apiserver.Cache, error) {
				return apiserver.Cache{Storage: settings.Storage}, nil
			})
		}},
		simrun.Target{Name: "careless", Summary: "remembers the objects that it has read", New: func() target.Target {
			return apiserver.New("careless", current.Release{}, func(settings cacher.Config, _ target.ServerConfig) (apiserver.Cache, error) {
				return apiserver.Cache{Storage: &careless{Interface: settings.Storage, read: map[string]runtime.Object{}}}, nil
			})
		}},
	)
}

// careless answers a get with what it has read before, and only forgets an object when it writes
// it. Other API servers write, too.
type careless struct {
	storage.Interface
	mu   sync.Mutex
	read map[string]runtime.Object
}

// Get implements storage.Interface.
func (c *careless) Get(ctx context.Context, key string, options storage.GetOptions, into runtime.Object) error {
	c.mu.Lock()
	known := c.read[key]
	c.mu.Unlock()
	if known != nil {
		reflect.ValueOf(into).Elem().Set(reflect.ValueOf(known.DeepCopyObject()).Elem())
		return nil
	}
	err := c.Interface.Get(ctx, key, options, into)
	if err == nil {
		c.mu.Lock()
		c.read[key] = into.DeepCopyObject()
		c.mu.Unlock()
	}
	return err
}

func (c *careless) forget(key string) {
	c.mu.Lock()
	delete(c.read, key)
	c.mu.Unlock()
}

// Create implements storage.Interface.
func (c *careless) Create(ctx context.Context, key string, object, into runtime.Object, ttl uint64) error {
	defer c.forget(key)
	return c.Interface.Create(ctx, key, object, into, ttl)
}

// Delete implements storage.Interface.
func (c *careless) Delete(ctx context.Context, key string, into runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, existing runtime.Object, options storage.DeleteOptions,
) error {
	defer c.forget(key)
	return c.Interface.Delete(ctx, key, into, preconditions, validate, existing, options)
}

// GuaranteedUpdate implements storage.Interface.
func (c *careless) GuaranteedUpdate(ctx context.Context, key string, into runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, update storage.UpdateFunc, existing runtime.Object,
) error {
	defer c.forget(key)
	return c.Interface.GuaranteedUpdate(ctx, key, into, ignoreNotFound, preconditions, update, existing)
}
