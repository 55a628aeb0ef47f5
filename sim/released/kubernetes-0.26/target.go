package kubernetes

import (
	"fmt"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim/target"
	"github.com/watchsim/watchsim/sim/target/apiserver/translate"
)

// Name is what --target calls the release.
const Name = "kubernetes-0.26"

// New returns the target. The first call prepares what Kubernetes' libraries keep for
// the whole process.
func New() target.Target {
	prepareProcess()
	return releasedTarget{}
}

type releasedTarget struct{}

// Name implements target.Target.
func (releasedTarget) Name() string { return Name }

// Prefix implements target.Target.
func (releasedTarget) Prefix() string {
	return translate.StoragePrefix + translate.ResourcePrefix + "/"
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
func (releasedTarget) NewInformer(api target.API, scope model.Scope) target.Informer {
	return newInformer(api, scope)
}

// Decode implements target.Target.
func (releasedTarget) Decode(key string, value []byte) (model.Object, error) {
	return translate.Decode(key, value)
}
