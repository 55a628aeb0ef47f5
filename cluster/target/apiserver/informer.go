package apiserver

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver/registry"
	"github.com/watchsim/watchsim/model"
)

// informer is a client-go informer: reflector, queue and store.
type informer struct {
	store      cache.Store
	controller cache.Controller
}

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
	return &informer{store: store, controller: controller}
}

// Run implements target.Informer.
func (i *informer) Run(ctx context.Context) { i.controller.RunWithContext(ctx) }

// Objects implements target.Informer.
func (i *informer) Objects() []model.Object { return registry.ObjectsOf(i.store.List()) }

// LastSyncRV implements target.Informer.
func (i *informer) LastSyncRV() int64 {
	return registry.ParseRV(i.controller.LastSyncResourceVersion())
}
