// Package jobset runs the released JobSet in a simulated cluster with the whole control plane of Kubernetes.
package jobset

import (
	"context"
	"crypto/tls"
	"errors"
	"path/filepath"
	"reflect"
	"runtime"

	machinery "k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	configapi "sigs.k8s.io/jobset/api/config/v1alpha1"
	api "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	"sigs.k8s.io/jobset/pkg/config"
	"sigs.k8s.io/jobset/pkg/controllers"
	"sigs.k8s.io/jobset/pkg/webhooks"
)

// Scheme returns the types that JobSet uses.
func Scheme() *machinery.Scheme {
	scheme := machinery.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(api.AddToScheme(scheme))
	utilruntime.Must(configapi.AddToScheme(scheme))
	return scheme
}

// Run runs a replica of JobSet as its command does with the configuration of the release, until ctx is done or another replica leads.
func Run(ctx context.Context, cluster *rest.Config, certificate tls.Certificate) error {
	scheme := Scheme()
	options, settings, err := config.Load(scheme, filepath.Join(Release(), "config/components/manager/controller_manager_config.yaml"))
	if err != nil {
		return err
	}
	cluster = rest.CopyConfig(cluster)
	cluster.QPS, cluster.Burst = *settings.ClientConnection.QPS, int(*settings.ClientConnection.Burst)
	// The certificate is given, as with cert-manager.
	options.WebhookServer = webhook.NewServer(webhook.Options{Port: *settings.Webhook.Port, TLSOpts: []func(*tls.Config){func(c *tls.Config) {
		c.NextProtos = []string{"http/1.1"}
		c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate, nil }
	}}})
	// Both replicas run in one process here, and metrics and the names of controllers are global to it.
	options.Metrics.BindAddress, options.HealthProbeBindAddress, options.Controller.SkipNameValidation = "0", "0", new(true)
	options.LeaderElectionNamespace = Namespace // which a pod reads from its service account
	manager, err := ctrl.NewManager(cluster, options)
	if err != nil {
		return err
	}
	client, record := manager.GetClient(), manager.GetEventRecorder
	if err := errors.Join(
		controllers.SetupJobSetIndexes(ctx, manager.GetFieldIndexer()),
		controllers.SetupPodIndexes(ctx, manager.GetFieldIndexer()),
		controllers.NewJobSetReconciler(client, scheme, record("jobset")).SetupWithManager(manager),
		controllers.NewPodReconciler(client, scheme, record("pod")).SetupWithManager(manager),
		webhooks.Setup(manager),
	); err != nil {
		return err
	}
	return manager.Start(ctx)
}

// Namespace is where the release installs JobSet.
const Namespace = "jobset-system"

// Release is the folder of the released source that this was built from.
func Release() string {
	function := runtime.FuncForPC(reflect.ValueOf(config.Load).Pointer())
	file, _ := function.FileLine(function.Entry())
	return filepath.Join(filepath.Dir(file), "..", "..")
}
