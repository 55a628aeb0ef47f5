// Package kubernetes is the target that runs Kubernetes' own watch cache,
// k8s.io/apiserver/pkg/storage/cacher, unmodified: the cacher, and the delegator that
// decides which requests go to etcd instead.
package kubernetes

import (
	upstream "k8s.io/apiserver/pkg/storage/cacher"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver"
)

// New returns the target, under the name by which --target selects it and over a release of etcd.
func New(name string, release etcd.Release) target.Target {
	return apiserver.New(name, release, newCache)
}

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
