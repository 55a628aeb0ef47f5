package controlplane

import (
	"context"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/component-base/configz"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	schedulerconfig "k8s.io/kubernetes/cmd/kube-scheduler/app/config"
	"k8s.io/kubernetes/pkg/scheduler"
)

// Scheduler runs kube-scheduler with leader election until ctx is done. It is a program for
// simtest: when it loses its lease, it exits and is restarted. The real command creates the
// client from a file; here it is given. The rest is as in app.Setup.
func (p *Plane) Scheduler(ctx context.Context, config *rest.Config) error {
	return registered(func() error { return p.settings.runScheduler(ctx, config) })
}

func (s Settings) runScheduler(ctx context.Context, config *rest.Config) error {
	settings, err := s.scheduler()
	if err != nil {
		return err
	}
	config = rest.CopyConfig(config)
	config.ContentType, config.QPS, config.Burst = settings.ClientConnection.ContentType, settings.ClientConnection.QPS, int(settings.ClientConnection.Burst)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	broadcaster := events.NewEventBroadcasterAdapterWithContext(ctx, client)
	c := &schedulerconfig.Config{
		ComponentConfig: *settings, Client: client, KubeConfig: config, EventBroadcaster: broadcaster,
		InformerFactory:    scheduler.NewInformerFactory(client, 0, nil),
		DynInformerFactory: dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamicClient, 0, corev1.NamespaceAll, nil),
	}
	if c.LeaderElection, err = election(c); err != nil {
		return err
	}
	made, err := scheduler.New(ctx, client, c.InformerFactory, c.DynInformerFactory,
		func(name string) events.EventRecorderLogger { return broadcaster.NewRecorder(name) },
		scheduler.WithComponentConfigVersion(settings.APIVersion),
		scheduler.WithKubeConfig(config),
		scheduler.WithProfiles(settings.Profiles...),
		scheduler.WithPercentageOfNodesToScore(settings.PercentageOfNodesToScore),
		scheduler.WithPodMaxBackoffSeconds(settings.PodMaxBackoffSeconds),
		scheduler.WithPodInitialBackoffSeconds(settings.PodInitialBackoffSeconds),
		scheduler.WithParallelism(settings.Parallelism),
		scheduler.WithExtenders(settings.Extenders...),
	)
	if err != nil {
		return err
	}
	completed := c.Complete()
	configz.Delete("componentconfig") // it is registered once per process, which all schedulers share
	return app.Run(ctx, &completed, made)
}

// election configures leader election as the scheduler's command does.
func election(c *schedulerconfig.Config) (*leaderelection.LeaderElectionConfig, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	settings := c.ComponentConfig.LeaderElection
	lock, err := resourcelock.NewFromKubeconfig(settings.ResourceLock, settings.ResourceNamespace, settings.ResourceName,
		resourcelock.ResourceLockConfig{
			Identity:      host + "_" + string(uuid.NewUUID()),
			EventRecorder: c.EventBroadcaster.DeprecatedNewLegacyRecorder(corev1.DefaultSchedulerName),
		}, c.KubeConfig, settings.RenewDeadline.Duration)
	if err != nil {
		return nil, err
	}
	return &leaderelection.LeaderElectionConfig{
		Lock: lock, Name: "kube-scheduler", ReleaseOnCancel: true,
		LeaseDuration: settings.LeaseDuration.Duration, RenewDeadline: settings.RenewDeadline.Duration, RetryPeriod: settings.RetryPeriod.Duration,
	}, nil
}
