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

// releasedTarget implements target.Target.
type releasedTarget struct {
	name string
	etcd etcd.Release
}

func (t releasedTarget) Name() string       { return t.name }
func (t releasedTarget) Etcd() etcd.Release { return t.etcd }

func (releasedTarget) Prefix() string {
	return registry.StoragePrefix + registry.ResourcePrefix + "/"
}

func (releasedTarget) Start(config target.ServerConfig) (target.Server, error) {
	s, err := startServer(config)
	if err != nil {
		return nil, fmt.Errorf("start API server %q: %w", config.Name, err)
	}
	return s, nil
}

func (releasedTarget) NewInformer(api target.API, scope model.Scope, handle target.Handle) target.Informer {
	return newInformer(api, scope, handle)
}

func (releasedTarget) Decode(key string, value []byte) (model.Object, error) {
	return registry.Decode(key, value)
}
