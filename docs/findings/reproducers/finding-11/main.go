// Finding 11: the pod garbage collector has not been told what became of a pod whose node is gone. It makes a failed pod of one that has succeeded,
// and deletes another one of its name.
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

// Real ones are 20 s and 40 s.
const (
	period     = 50 * time.Millisecond
	quarantine = 200 * time.Millisecond
	patient    = 10 * time.Second
)

func main() {
	fmt.Printf("the collector was told that the pod has succeeded: it is %s when it is deleted\n", deleted(true))
	unaware := deleted(false)
	fmt.Printf("the collector was not told: it is %s when it is deleted\n", unaware)
	wrong, hit := replaced()
	fmt.Printf("the collector was not told that a failed pod was deleted and created again elsewhere: it deletes %s\n", hit)
	rig.VerdictOfOne(unaware == corev1.PodFailed || wrong, "a pod that has succeeded fails, or a pod is deleted for another one")
}

// deleted is the phase in which the released pod garbage collector deletes a pod that has succeeded on a node that is gone.
func deleted(told bool) corev1.PodPhase {
	stored, _ := collect(corev1.PodRunning, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded }, told)
	return stored.Status.Phase
}

// replaced reports whether the collector deletes a pod for another one that had its name.
func replaced() (wrong bool, what string) {
	stored, demands := collect(corev1.PodFailed, func(pod *corev1.Pod) {
		pod.UID, pod.Spec.NodeName, pod.Status.Phase = "2", "there", corev1.PodRunning
	}, false)
	if demands != nil && demands.UID != nil && *demands.UID != stored.UID {
		return false, "nothing, as it asks for the UID that it knows"
	}
	return true, fmt.Sprintf("the new one, which is %s on node %s: it asks for a name, and for no UID", stored.Status.Phase, stored.Spec.NodeName)
}

// collect has a pod on a node that is gone become something else, of which the collector is told or not. It returns the pod that the
// collector then deletes, as it is stored at that moment, and the preconditions that it has.
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
		return true, nil, nil // a finalizer keeps it
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
	object, err := client.Tracker().Get(kind, pod.Namespace, pod.Name)
	rig.Must(err)
	return object.(*corev1.Pod), demands
}
