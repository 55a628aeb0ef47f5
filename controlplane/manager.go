package controlplane

import (
	"context"
	"fmt"
	"sync"
	_ "unsafe" // for go:linkname

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/configz"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
)

// controllers are the controllers that run: all that need no cloud, certificates,
// storage drivers or metrics.
var controllers = []string{
	names.CronJobController, names.DaemonSetController, names.DeploymentController, names.DisruptionController,
	names.EndpointSliceController, names.EndpointsController, names.EphemeralVolumeController, names.GarbageCollectorController, names.JobController,
	names.NamespaceController, names.NodeLifecycleController, names.PodGarbageCollectorController,
	names.PersistentVolumeBinderController, names.PersistentVolumeClaimProtectionController, names.PersistentVolumeProtectionController, names.ReplicaSetController, names.ResourceQuotaController, names.ServiceAccountController,
	names.StatefulSetController, names.TaintEvictionController, names.TTLAfterFinishedController,
}

// informerNames is client-go's registry, which cannot forget the names of a crashed process.
//
//go:linkname informerNames k8s.io/client-go/tools/cache.informerNameRegistry
var informerNames struct {
	sync.Mutex
	names map[string]*cache.InformerName
}

// ControllerManager runs kube-controller-manager with leader election until ctx is done. It is
// a program for simtest: when it loses its lease, it exits and is restarted.
func (p *Plane) ControllerManager(ctx context.Context, config *rest.Config) error {
	return registered(func() error { return p.settings.controllerManager(ctx, config) })
}

func (s Settings) controllerManager(ctx context.Context, config *rest.Config) error {
	o, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return err
	}
	if _, err := s.managerFlags(o); err != nil {
		return err
	}
	o.Master = config.Host
	o.SecureServing.BindPort = 0 // it serves no requests
	o.Generic.Controllers = controllers
	manager, err := o.Config(ctx, app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases())
	if err != nil {
		return fmt.Errorf("configure kube-controller-manager: %w", err)
	}
	manager.Kubeconfig = rest.CopyConfig(config)
	manager.Kubeconfig.QPS, manager.Kubeconfig.Burst = o.Generic.ClientConnection.QPS, int(o.Generic.ClientConnection.Burst)
	manager.Kubeconfig.ContentType = o.Generic.ClientConnection.ContentType
	if manager.Client, err = kubernetes.NewForConfig(manager.Kubeconfig); err != nil {
		return err
	}
	// Both are registered once per process, which all managers and all their lives share.
	configz.Delete(app.ConfigzName)
	delete(informerNames.names, "kube-controller-manager")
	return app.Run(ctx, manager.Complete())
}
