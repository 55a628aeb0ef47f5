package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/watchsim/watchsim/examples/operator/api/v1"
)

// Options are those of the operator.
type Options struct {
	// Metrics is the address for serving metrics; 0 disables them.
	Metrics string
	// Lead is the namespace of the leader election lease; "" for a single replica.
	Lead string
	// ReleaseByName is Reconciler.ReleaseByName.
	ReleaseByName bool
}

// Scheme returns the types that the operator uses.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return scheme, v1.AddToScheme(scheme)
}

// Failures are retried after firstRetry, with exponential backoff up to lastRetry. The default maximum
// is a quarter of an hour, and a failure counts whether it was a retry or the object had changed: a
// busy user and some seconds of failing requests are enough to get there.
const (
	firstRetry = 5 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// Run runs a replica of the operator until its context is done or another one leads.
func Run(ctx context.Context, cluster *rest.Config, options Options) error {
	scheme, err := Scheme()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(cluster, ctrl.Options{
		Scheme:                  scheme,
		Metrics:                 server.Options{BindAddress: options.Metrics},
		LeaderElection:          options.Lead != "",
		LeaderElectionID:        "database-operator",
		LeaderElectionNamespace: options.Lead,
		// Tests run several operators in one process, and names are only for metrics.
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(manager).
		For(&v1.Database{}).
		Owns(&corev1.Pod{}).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(databaseOf)).
		WithOptions(controller.Options{RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](firstRetry, lastRetry)}).
		Complete(&Reconciler{Client: manager.GetClient(), Live: manager.GetAPIReader(), ReleaseByName: options.ReleaseByName})
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}

// databaseOf returns the database that a volume was made for.
func databaseOf(_ context.Context, volume client.Object) []reconcile.Request {
	name := volume.GetLabels()[nameLabel]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: volume.GetNamespace(), Name: name}}}
}
