package kubernetes

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/cluster/target/apiserver/registry"
	"github.com/watchsim/watchsim/model"
)

// informer is an informer of client-go 0.26, whose requests carry no context.
type informer struct {
	registry.Informer
	source *registry.ListerWatcher
	ctx    context.Context // that of Run, which no request precedes
}

func newInformer(api target.API, scope model.Scope, handle target.Handle) *informer {
	i := &informer{source: &registry.ListerWatcher{API: api, Scope: scope}}
	i.Store, i.Controller = cache.NewInformer(&cache.ListWatch{
		ListFunc: func(options metav1.ListOptions) (runtime.Object, error) {
			return i.source.List(i.ctx, options)
		},
		WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
			return i.source.Watch(i.ctx, options)
		},
	}, &corev1.Pod{}, 0, registry.InformerHandler(handle))
	return i
}

func (i *informer) Run(ctx context.Context) {
	i.ctx = ctx
	i.Controller.Run(ctx.Done())
}
