// Finding 33: a pod loses the label by which a PodDisruptionBudget selects it. The budget is not synced and still counts that pod, so that the last pod that it
// selects can be evicted.
package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/policy"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/registry/core/pod/storage"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

const (
	name, last, other = "budget", "last", "other"
	// wait is how long the controller has; it writes a status within milliseconds.
	wait = 3 * time.Second
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewClientset()
	pods := rig.Value(storage.NewStorage(store.Options{Etcd: rig.StartEtcd()}, nil, nil, client.PolicyV1(), nil)) // with the budgets of the client
	run(ctx, client)
	control := evicted(pods, client, "unready", func(pod *corev1.Pod) { pod.Status.Conditions = nil })
	relabelled := evicted(pods, client, "relabelled", func(pod *corev1.Pod) { pod.Labels = nil })
	rig.VerdictOfOne(relabelled && !control, "the last ready pod of a budget with minAvailable 1 is evicted after another pod has lost its label")
}

// run runs the disruption controller.
func run(ctx context.Context, client *fake.Clientset) {
	factory := informers.NewSharedInformerFactory(client, 0)
	core, apps := factory.Core().V1(), factory.Apps().V1()
	controller := disruption.NewDisruptionController(ctx, core.Pods(), factory.Policy().V1().PodDisruptionBudgets(), core.ReplicationControllers(),
		apps.ReplicaSets(), apps.Deployments(), apps.StatefulSets(), client, nil, nil, client.Discovery())
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	go controller.Run(ctx, 1)
}

// evicted creates in a namespace two ready pods and a budget with minAvailable 1 that selects them, changes one pod, and reports whether the other one is
// evicted nevertheless.
func evicted(pods storage.PodStorage, client *fake.Clientset, space string, change func(*corev1.Pod)) bool {
	ctx := store.Request(space, "pods")
	budgets := client.PolicyV1().PodDisruptionBudgets(space)
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name}, Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: pod(space, last).Labels},
	}}
	rig.Create(budgets, budget)
	for _, name := range []string{last, other} {
		rig.Create(client.CoreV1().Pods(space), pod(space, name))
	}
	keep(ctx, pods, pod(space, last))
	allowed := func() int32 {
		budget = rig.Get(budgets, name)
		return budget.Status.DisruptionsAllowed
	}
	rig.Until(func() bool { return allowed() == 1 })

	changed := pod(space, other)
	change(changed)
	rig.Update(client.CoreV1().Pods(space), changed)
	after, _ := rig.Wait(time.Millisecond, wait, func() bool { return allowed() == 0 })
	fmt.Printf("a pod is %s: after %v the budget counts %d healthy pods and allows %d disruptions\n",
		space, after.Round(time.Millisecond), budget.Status.CurrentHealthy, budget.Status.DisruptionsAllowed)
	eviction := &policy.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: last}}
	_, err := pods.Eviction.Create(ctx, last, eviction, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		fmt.Printf("the eviction of the last ready pod is refused: %v\n", err)
		return false
	}
	fmt.Println("the eviction of the last ready pod is allowed")
	return true
}

// pod returns a pod that runs and is ready.
func pod(space, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name, Labels: map[string]string{"app": "a"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "image"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// keep creates a pod in the storage, with its status.
func keep(ctx context.Context, pods storage.PodStorage, pod *corev1.Pod) {
	internal := store.Internal(pod, &core.Pod{})
	rig.Value(pods.Pod.Create(ctx, internal.DeepCopy(), rest.ValidateAllObjectFunc, &metav1.CreateOptions{}))
	rig.Value(store.Change(ctx, pods.Status, pod.Name, func(kept *core.Pod) { kept.Status = internal.Status }))
}
