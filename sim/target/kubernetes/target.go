// Package kubernetes is the target that runs Kubernetes' own watch cache,
// k8s.io/apiserver/pkg/storage/cacher, unmodified.
//
// It answers one question: how does the cache of a real API server behave? So a
// server here is wired as kube-apiserver wires its storage of pods, and requests
// take the path they take there from the HTTP handlers on: option defaulting and
// validation, the generic registry's use of storage.Interface, the cache
// delegator, the cacher, the etcd3 store and clientv3. What is left out lies
// above: HTTP, encoding for the wire, authentication, admission, flow control.
//
// The objects are pods of which the fields of model.Object are in use.
package kubernetes

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/sim/target"
)

// etcd keys are storagePrefix, resourcePrefix, namespace and name.
const (
	storagePrefix  = "/registry"
	resourcePrefix = "/pods"
)

// New returns the target. The first call prepares what Kubernetes' libraries
// keep for the whole process, see LogTo.
func New() target.Target {
	prepareProcess()
	return kubernetesTarget{}
}

type kubernetesTarget struct{}

// Name implements target.Target.
func (kubernetesTarget) Name() string { return "kubernetes" }

// Prefix implements target.Target.
func (kubernetesTarget) Prefix() string { return storagePrefix + resourcePrefix + "/" }

// Start implements target.Target. The bookmark period in config has no effect:
// it is a constant in Kubernetes' cacher, one minute.
func (kubernetesTarget) Start(config target.ServerConfig) (target.Server, error) {
	s, err := startServer(config.Endpoints)
	if err != nil {
		return nil, fmt.Errorf("start API server %q: %w", config.Name, err)
	}
	return s, nil
}

// NewInformer implements target.Target.
func (kubernetesTarget) NewInformer(api target.API, scope model.Scope) target.Informer {
	return newInformer(api, scope)
}

// Decode implements target.Target.
func (kubernetesTarget) Decode(key string, value []byte) (model.Object, error) {
	var pod corev1.Pod
	if _, _, err := podSerializer.Decode(value, nil, &pod); err != nil {
		return model.Object{}, fmt.Errorf("%s is not a pod: %w", key, err)
	}
	return objectOf(&pod), nil
}
