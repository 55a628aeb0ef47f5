// Package apiserver is an API server from the registry down, around any watch cache
// that implements Kubernetes' storage.Interface. The targets cluster/target/kubernetes
// and cluster/target/cacher are this server with a cache each.
//
// It answers one question: what does a real API server request from its cache? A server
// is therefore wired as kube-apiserver wires its storage of pods, and requests take the
// same path from the HTTP handlers on: option defaulting and validation, the generic
// registry's use of storage.Interface, the cache, the etcd3 store and clientv3. The
// layers above are left out: HTTP, encoding for the wire, authentication, admission,
// flow control.
//
// The objects are pods that use the fields of model.Object. Package registry calls the cache, and
// converts pods, events and errors to the types of model. The targets of cluster/released use it,
// too.
package apiserver

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/cache"

	"github.com/watchsim/watchsim/cluster/etcd"
	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver/registry"
	"github.com/watchsim/watchsim/model"
)

// Cache is a running watch cache, as a server uses it.
type Cache struct {
	// Storage serves the requests.
	Storage storage.Interface
	// Watchers returns how many watches the cache has registered; nil if there is no
	// cache.
	Watchers func() int
	// Window reads the cache's window; its zero value if there is none.
	Window Window
	// Stop stops the cache, but not the storage below it; nil if there is nothing to stop.
	Stop func()
}

// NewCache starts a cache. The settings are those that kube-apiserver passes to
// Kubernetes' cacher; server contains the preferred bookmark period.
type NewCache func(settings cacher.Config, server target.ServerConfig) (Cache, error)

// New returns a target with the given name, over a release of etcd. The first call prepares the
// process-wide state of Kubernetes' libraries; see LogTo.
func New(name string, release etcd.Release, newCache NewCache) target.Target {
	prepareProcess()
	return apiserverTarget{name: name, etcd: release, newCache: newCache}
}

// apiserverTarget implements target.Target and target.Logger.
type apiserverTarget struct {
	name     string
	etcd     etcd.Release
	newCache NewCache
}

func (t apiserverTarget) Name() string       { return t.name }
func (t apiserverTarget) Etcd() etcd.Release { return t.etcd }
func (apiserverTarget) LogTo(w io.Writer)    { LogTo(w) }

func (apiserverTarget) Prefix() string {
	return registry.StoragePrefix + registry.ResourcePrefix + "/"
}

func (t apiserverTarget) Start(config target.ServerConfig) (target.Server, error) {
	s, err := startServer(config, t.newCache)
	if err != nil {
		return nil, fmt.Errorf("start API server %q: %w", config.Name, err)
	}
	return s, nil
}

func (apiserverTarget) NewInformer(api target.API, scope model.Scope, handle target.Handle) target.Informer {
	return newInformer(api, scope, handle)
}

// NewUncached returns the target whose API servers have no watch cache, as kube-apiserver
// with --watch-cache=false: every request goes to the etcd3 store, and every watch has one
// of its own on etcd.
func NewUncached(release etcd.Release) target.Target {
	return New("etcd3", release, func(settings cacher.Config, _ target.ServerConfig) (Cache, error) {
		return Cache{Storage: settings.Storage}, nil
	})
}

// release adapts the registry to the Kubernetes release in go.mod.
var release = registry.Release{
	Validate: func(options *internalversion.ListOptions) field.ErrorList {
		watchList := utilfeature.DefaultFeatureGate.Enabled(features.WatchList)
		internalversion.SetListOptionsDefaults(options, watchList)
		return validation.ValidateListOptions(options, watchList)
	},
	Delete: func(ctx context.Context, store storage.Interface, key string, out runtime.Object, preconditions *storage.Preconditions, validate storage.ValidateObjectFunc) error {
		return store.Delete(ctx, key, out, preconditions, validate, nil, storage.DeleteOptions{})
	},
	AskForInitialEvents: func(options *internalversion.ListOptions) {
		options.SendInitialEvents = new(true)
	},
	PassInitialEvents: func(options *internalversion.ListOptions, passed *storage.ListOptions) {
		passed.SendInitialEvents = options.SendInitialEvents
	},
}

// informer is a client-go informer: reflector, queue and store.
type informer struct{ registry.Informer }

func newInformer(api target.API, scope model.Scope, handle target.Handle) *informer {
	source := &registry.ListerWatcher{API: api, Scope: scope, InitialEvents: func(options metav1.ListOptions) bool {
		return options.SendInitialEvents != nil && *options.SendInitialEvents
	}}
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc:  source.List,
			WatchFuncWithContext: source.Watch,
		},
		ObjectType: &corev1.Pod{},
		Handler:    registry.InformerHandler(handle),
	})
	return &informer{registry.Informer{Store: store, Controller: controller}}
}

func (i *informer) Run(ctx context.Context) { i.Controller.RunWithContext(ctx) }
