package apiserver

import (
	"k8s.io/apiserver/pkg/storage/cacher"

	"github.com/watchsim/watchsim/cluster/target"
)

// NewUncached returns the target whose API servers have no watch cache, as kube-apiserver
// with --watch-cache=false: every request goes to the etcd3 store, and every watch has one
// of its own on etcd.
func NewUncached() target.Target {
	return New("etcd3", func(settings cacher.Config, _ target.ServerConfig) (Cache, error) {
		return Cache{Storage: settings.Storage}, nil
	})
}
