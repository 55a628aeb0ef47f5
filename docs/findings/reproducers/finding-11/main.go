// Finding 11: the informer of the pod garbage collector lags behind a pod whose node is gone. The collector marks a Succeeded pod as Failed,
// and deletes a new pod of the same name.
package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/controller/podgc"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// kube-controller-manager uses 20 s and 40 s.
const (
	period     = 50 * time.Millisecond
	quarantine = 200 * time.Millisecond
	patient    = 10 * time.Second
)

func main() {
	fmt.Printf("the collector observed that the pod succeeded: the pod is %s when it is deleted\n", deleted(true))
	unaware := deleted(false)
	fmt.Printf("the collector did not: the pod is %s when it is deleted\n", unaware)
	wrong, hit := replaced()
	fmt.Printf("the collector did not observe that a failed pod was deleted and recreated elsewhere: it deletes %s\n", hit)
	rig.VerdictOfOne(unaware == corev1.PodFailed || wrong, "a Succeeded pod becomes Failed, or a new pod is deleted in place of an old one")
}

// deleted returns the phase that a pod which succeeded on a removed node has when the released pod garbage collector deletes it.
func deleted(told bool) corev1.PodPhase {
	stored, _ := collect(corev1.PodRunning, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded }, told)
	return stored.Status.Phase
}

// replaced reports whether the collector deletes a pod in place of its predecessor of the same name.
func replaced() (wrong bool, what string) {
	stored, demands := collect(corev1.PodFailed, func(pod *corev1.Pod) {
		pod.UID, pod.Spec.NodeName, pod.Status.Phase = "2", "there", corev1.PodRunning
	}, false)
	if demands != nil && demands.UID != nil && *demands.UID != stored.UID {
		return false, "nothing, as the delete has the old UID"
	}
	return true, fmt.Sprintf("the new one, which is %s on node %s: the delete has no UID", stored.Status.Phase, stored.Spec.NodeName)
}

// collect changes a pod on a removed node, and the collector observes the change or not. It returns the stored pod at the moment
// when the collector deletes it, and the preconditions of the delete.
func collect(phase corev1.PodPhase, become func(*corev1.Pod), told bool) (stored *corev1.Pod, demands *metav1.Preconditions) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: "a", UID: "1", Finalizers: []string{"batch.kubernetes.io/job-tracking"}},
		Spec:       corev1.PodSpec{NodeName: "gone"}, Status: corev1.PodStatus{Phase: phase},
	}
	kind := corev1.SchemeGroupVersion.WithResource("pods")
	client := fake.NewSimpleClientset(pod)
	deletions := make(chan *metav1.Preconditions, 1000)
	client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		deletions <- action.(clienttesting.DeleteActionImpl).DeleteOptions.Preconditions
		return true, nil, nil // its finalizer keeps it
	})
	pods := watch.NewRaceFreeFake()
	client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) { return true, pods, nil })

	factory := informers.NewSharedInformerFactory(client, 0)
	collector := podgc.NewPodGCInternal(ctx, client, factory.Core().V1().Pods(), factory.Core().V1().Nodes(), 0, period, quarantine)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	changed := pod.DeepCopy()
	become(changed)
	rig.Must(client.Tracker().Update(kind, changed, pod.Namespace))
	if told {
		pods.Modify(changed)
		rig.Until(func() bool {
			cached, err := factory.Core().V1().Pods().Lister().Pods(pod.Namespace).Get(pod.Name)
			return err == nil && cached.Status.Phase == changed.Status.Phase
		})
	}
	go collector.Run(ctx)
	select {
	case demands = <-deletions:
	case <-time.After(patient):
		rig.Must(fmt.Errorf("expected the collector to delete the pod within %v", patient))
	}
	return rig.Value(client.Tracker().Get(kind, pod.Namespace, pod.Name)).(*corev1.Pod), demands
}
