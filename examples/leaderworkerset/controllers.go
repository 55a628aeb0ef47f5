// Package leaderworkerset runs the released controllers of LeaderWorkerSet above a simulated control plane.
package leaderworkerset

import (
	"context"
	"crypto/tls"
	"errors"
	"path/filepath"
	"reflect"
	goruntime "runtime"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	configapi "sigs.k8s.io/lws/api/config/v1alpha1"
	lwsv1 "sigs.k8s.io/lws/api/leaderworkerset/v1"
	"sigs.k8s.io/lws/pkg/config"
	"sigs.k8s.io/lws/pkg/controllers"
	"sigs.k8s.io/lws/pkg/utils"
	"sigs.k8s.io/lws/pkg/webhooks"
)

// Scheme returns the types that the controllers use.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(lwsv1.AddToScheme(scheme))
	utilruntime.Must(configapi.AddToScheme(scheme))
	return scheme
}

// Manager returns a program that runs a replica of the release's manager with its default settings, until its context is done or it has lost
// its lease. It serves webhooks with the certificate. What the release's main also sets up is left out: metrics, which share one
// registry here, the rotation of certificates, which are given, gang scheduling, which is off by default, and DisaggregatedSets.
func Manager(certificate tls.Certificate) func(ctx context.Context, cluster *rest.Config) error {
	return func(ctx context.Context, cluster *rest.Config) error {
		options, defaults, err := config.Load(Scheme(), "")
		if err != nil {
			return err
		}
		cluster = rest.CopyConfig(cluster)
		cluster.QPS, cluster.Burst = *defaults.ClientConnection.QPS, int(*defaults.ClientConnection.Burst)
		options.Metrics.BindAddress = "0"
		options.LeaderElectionNamespace = utils.GetOperatorNamespace()
		options.Controller.SkipNameValidation = new(true) // replicas and their lives share one process
		config.AddWebhookSettingsTo(&options, &defaults, []func(*tls.Config){func(c *tls.Config) {
			c.NextProtos = []string{"http/1.1"}
			c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate, nil }
		}})
		manager, err := ctrl.NewManager(cluster, options)
		if err != nil {
			return err
		}
		client, scheme := manager.GetClient(), manager.GetScheme()
		if err := errors.Join(
			controllers.SetupIndexes(manager.GetFieldIndexer()),
			controllers.NewLeaderWorkerSetReconciler(client, scheme, manager.GetEventRecorder("leaderworkerset")).SetupWithManager(manager),
			controllers.NewPodReconciler(client, scheme, manager.GetEventRecorder("leaderworkerset"), nil).SetupWithManager(manager),
			webhooks.SetupLeaderWorkerSetWebhook(manager),
			webhooks.NewPodWebhook(nil).Setup(manager),
			manager.AddHealthzCheck("healthz", healthz.Ping),
			manager.AddReadyzCheck("readyz", healthz.Ping),
		); err != nil {
			return err
		}
		return manager.Start(ctx)
	}
}

// Release is the folder of the release's manifests, beside the source that this was built from.
func Release() string {
	function := goruntime.FuncForPC(reflect.ValueOf(controllers.SetupIndexes).Pointer())
	file, _ := function.FileLine(function.Entry())
	return filepath.Join(filepath.Dir(file), "..", "..", "config")
}
