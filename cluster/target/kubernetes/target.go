// Package kubernetes is the target that runs Kubernetes' own watch cache,
// k8s.io/apiserver/pkg/storage/cacher, unmodified: the cacher, and the delegator that
// decides which requests go to etcd instead.
package kubernetes

import (
	"time"

	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	upstream "k8s.io/apiserver/pkg/storage/cacher"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver"
	"github.com/watchsim/watchsim/cluster/target/httpserver"
)

// New returns the target.
func New() target.Target { return apiserver.New("kubernetes", newCache) }

// newCache starts the cacher. It ignores the server's bookmark period: in Kubernetes'
// cacher it is a constant, one minute.
func newCache(settings upstream.Config, _ target.ServerConfig) (apiserver.Cache, error) {
	cacher, err := upstream.NewCacherFromConfig(settings)
	if err != nil {
		return apiserver.Cache{}, err
	}
	delegator := upstream.NewCacheDelegator(cacher, settings.Storage)
	return apiserver.Cache{
		Storage:  delegator,
		Watchers: func() int { return countWatchers(cacher) },
		Window:   windowOf(cacher),
		Stop: func() {
			delegator.Stop()
			cacher.Stop()
		},
	}, nil
}

// NewWeb returns API servers that serve HTTP, with this cache.
func NewWeb() target.Servers { return httpserver.New(genericregistry.StorageWithCacher()) }

// NewFairWeb returns the same with priority and fairness; see [httpserver.NewFair] for work.
func NewFairWeb(work time.Duration) target.Servers {
	return httpserver.NewFair(genericregistry.StorageWithCacher(), work)
}
