package api

import (
	"context"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/controller/volume/pvcprotection"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// Controller creates a controller as kube-controller-manager does, and returns what runs it with a number of workers.
type Controller func(context.Context, kubernetes.Interface, informers.SharedInformerFactory) (run func(context.Context, int))

// Control runs controllers for one namespace, or for all if it is "", and returns their informers once these have listed everything.
func Control(ctx context.Context, client kubernetes.Interface, space string, workers int, controllers ...Controller) informers.SharedInformerFactory {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(space))
	var runs []func(context.Context, int)
	for _, create := range controllers {
		runs = append(runs, create(ctx, client, factory))
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	for _, run := range runs {
		go run(ctx, workers)
	}
	return factory
}

// DaemonSets creates the controller of DaemonSets.
func DaemonSets(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) func(context.Context, int) {
	apps, core := factory.Apps().V1(), factory.Core().V1()
	backoff := flowcontrol.NewBackOff(time.Second, time.Minute)
	return rig.Value(daemon.NewDaemonSetsController(ctx, apps.DaemonSets(), apps.ControllerRevisions(), core.Pods(), core.Nodes(), client, backoff)).Run
}

// Deployments creates the controller of Deployments.
func Deployments(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) func(context.Context, int) {
	apps := factory.Apps().V1()
	return rig.Value(deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), factory.Core().V1().Pods(), client)).Run
}

// Jobs creates the controller of Jobs.
func Jobs(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) func(context.Context, int) {
	return rig.Value(job.NewController(ctx, client, factory.Core().V1().Pods(), factory.Batch().V1().Jobs(), nil, nil)).Run
}

// ReplicaSets creates the controller of ReplicaSets.
func ReplicaSets(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) func(context.Context, int) {
	return replicaset.NewReplicaSetController(ctx, factory.Apps().V1().ReplicaSets(), factory.Core().V1().Pods(), client, replicaset.BurstReplicas).Run
}

// StatefulSets creates the controller of StatefulSets.
func StatefulSets(ctx context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) func(context.Context, int) {
	apps, core := factory.Apps().V1(), factory.Core().V1()
	return statefulset.NewStatefulSetController(ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(), apps.ControllerRevisions(), client).Run
}

// ClaimProtection creates the controller of the protection of claims. It also adds their finalizer, for which an API server has admission.
func ClaimProtection(_ context.Context, client kubernetes.Interface, factory informers.SharedInformerFactory) func(context.Context, int) {
	core := factory.Core().V1()
	return rig.Value(pvcprotection.NewPVCProtectionController(klog.Background(), core.PersistentVolumeClaims(), core.Pods(), client)).Run
}
