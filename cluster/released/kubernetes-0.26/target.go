package kubernetes

import (
	"fmt"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver/registry"
	"github.com/watchsim/watchsim/model"
)

// New returns the target with that name, over a release of etcd. The first call prepares the
// process-wide state of Kubernetes' libraries.
func New(name string, release etcd.Release) target.Target {
	prepareProcess()
	return releasedTarget{name: name, etcd: release}
}

type releasedTarget struct {
	name string
	etcd etcd.Release
}

// Name implements target.Target.
func (t releasedTarget) Name() string { return t.name }

// Etcd implements target.Target.
func (t releasedTarget) Etcd() etcd.Release { return t.etcd }

// Prefix implements target.Target.
func (releasedTarget) Prefix() string {
	return registry.StoragePrefix + registry.ResourcePrefix + "/"
}

// Start implements target.Target.
func (releasedTarget) Start(config target.ServerConfig) (target.Server, error) {
	s, err := startServer(config)
	if err != nil {
		return nil, fmt.Errorf("start API server %q: %w", config.Name, err)
	}
	return s, nil
}

// NewInformer implements target.Target.
func (releasedTarget) NewInformer(api target.API, scope model.Scope, handle target.Handle) target.Informer {
	return newInformer(api, scope, handle)
}

// Decode implements target.Target.
func (releasedTarget) Decode(key string, value []byte) (model.Object, error) {
	return registry.Decode(key, value)
}
