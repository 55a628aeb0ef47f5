package controlplane

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// schedulingGate is the gate of pods that are not placed before [Plane.Gatekeeper] has removed it, as with a queue of batch workloads.
const schedulingGate = "example.com/gate"

// maxGated is how long the gatekeeper keeps a pod that it has observed.
const maxGated = 5 * time.Second

// Gatekeeper is a program for simtest that removes the scheduling gates of pods, each after a while.
func (p *Plane) Gatekeeper(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](100*time.Millisecond, maxGated))
	context.AfterFunc(ctx, queue.ShutDown)
	enqueue := func(o any) {
		if pod := o.(*corev1.Pod); len(pod.Spec.SchedulingGates) > 0 {
			queue.AddAfter(cache.MetaObjectToName(pod), upTo(maxGated))
		}
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	if _, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, o any) { enqueue(o) }}); err != nil {
		return err
	}
	factory.StartWithContext(ctx)
	for {
		name, ended := queue.Get()
		if ended {
			return nil
		}
		_, err := client.CoreV1().Pods(name.Namespace).Patch(ctx, name.Name, types.StrategicMergePatchType, []byte(`{"spec":{"schedulingGates":null}}`), metav1.PatchOptions{})
		if err == nil {
			p.note((*Plane).Gatekeeper)
		}
		if err == nil || apierrors.IsNotFound(err) {
			queue.Forget(name)
		} else {
			queue.AddRateLimited(name)
		}
		queue.Done(name)
	}
}
