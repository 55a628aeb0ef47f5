// Package apiserver is one API server from the registry down, around whichever
// watch cache of Kubernetes' storage.Interface it is given. The targets
// cluster/target/kubernetes and cluster/target/cacher are this with a cache each.
//
// It answers one question: what does a real API server ask of its cache? So a
// server here is wired as kube-apiserver wires its storage of pods, and requests
// take the path they take there from the HTTP handlers on: option defaulting and
// validation, the generic registry's use of storage.Interface, the cache, the etcd3
// store and clientv3. What is left out lies above: HTTP, encoding for the wire,
// authentication, admission, flow control.
//
// The objects are pods of which the fields of model.Object are in use. What they,
// events and errors are in the types of model is the business of package translate
// below, what is asked of the cache that of package registry. The targets of
// cluster/released share both.
package apiserver

import (
	"fmt"
	"io"

	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/etcd/current"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver/translate"
	"github.com/watchsim/watchsim/model"
)

// Cache is a watch cache in the hands of a server.
type Cache struct {
	// Storage is what requests go to.
	Storage storage.Interface
	// Watchers is how many watches the cache has registered.
	Watchers func() int
	// Window is how to see which window it holds.
	Window Window
	// Stop stops the cache, but not the storage below it.
	Stop func()
}

// NewCache starts a cache. The settings are those that kube-apiserver gives
// Kubernetes' own; the bookmark period in server is what the harness would like.
type NewCache func(settings cacher.Config, server target.ServerConfig) (Cache, error)

// New returns the target of that name. The first call prepares what Kubernetes'
// libraries keep for the whole process, see LogTo.
func New(name string, newCache NewCache) target.Target {
	prepareProcess()
	return apiserverTarget{name: name, newCache: newCache}
}

type apiserverTarget struct {
	name     string
	newCache NewCache
}

// Name implements target.Target.
func (t apiserverTarget) Name() string { return t.name }

// Etcd implements target.Target.
func (apiserverTarget) Etcd() etcd.Release { return current.Release{} }

// LogTo implements target.Logger.
func (apiserverTarget) LogTo(w io.Writer) { LogTo(w) }

// Prefix implements target.Target.
func (apiserverTarget) Prefix() string {
	return translate.StoragePrefix + translate.ResourcePrefix + "/"
}

// Start implements target.Target.
func (t apiserverTarget) Start(config target.ServerConfig) (target.Server, error) {
	s, err := startServer(config, t.newCache)
	if err != nil {
		return nil, fmt.Errorf("start API server %q: %w", config.Name, err)
	}
	return s, nil
}

// NewInformer implements target.Target.
func (apiserverTarget) NewInformer(api target.API, scope model.Scope) target.Informer {
	return newInformer(api, scope)
}

// Decode implements target.Target.
func (apiserverTarget) Decode(key string, value []byte) (model.Object, error) {
	return translate.Decode(key, value)
}
