// Finding 30: the template of a Deployment changes before its controller's informer has observed the ReplicaSet of the previous template. Then the
// ReplicaSets of both templates have more replicas than maxSurge or the strategy Recreate allows.
package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	space, name = "red", "a"
	// replicas is the size of the Deployment, and lag how late the informer observes ReplicaSets.
	replicas = 2
	lag      = time.Second
)

// strategies are the strategies of Deployments, each with the most pods that it allows.
var strategies = []struct {
	appsv1.DeploymentStrategy
	most int32
}{
	{appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(0))}}, replicas + 1},
	{appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}, replicas},
}

func main() {
	shown := 0
	for _, late := range []time.Duration{0, lag} {
		for _, s := range strategies {
			asked := rollout(s.DeploymentStrategy, late)
			fmt.Printf("%s, informer %v late: the replica sets ask for %d pods, and the deployment allows %d\n", s.Type, late, asked, s.most)
			if late > 0 && asked > s.most {
				shown++
			}
		}
	}
	rig.Verdict(shown, len(strategies), "replica sets of two templates ask for more pods than their deployment allows")
}

// rollout runs the Deployment controller with an informer of ReplicaSets that lags by late, and changes the template of a Deployment that has just been
// created. It returns the largest total size that its ReplicaSets have had.
func rollout(strategy appsv1.DeploymentStrategy, late time.Duration) (most int32) {
	client, revision := fake.NewClientset(), atomic.Int64{}
	revision.Store(1)
	tracker, sets := client.Tracker(), appsv1.SchemeGroupVersion.WithResource("replicasets")
	client.PrependReactor("create", "replicasets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		set := action.(clienttesting.CreateAction).GetObject().(*appsv1.ReplicaSet).DeepCopy()
		set.UID, set.ResourceVersion = types.UID(set.Name), fmt.Sprint(revision.Add(1)) // the fake sets neither
		return true, set, tracker.Create(sets, set, space)
	})
	client.PrependReactor("list", "replicasets", func(clienttesting.Action) (bool, runtime.Object, error) {
		list := rig.Value(tracker.List(sets, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), space))
		list.(*appsv1.ReplicaSetList).ResourceVersion = fmt.Sprint(revision.Load())
		return true, list, nil
	})
	client.PrependWatchReactor("replicasets", func(clienttesting.Action) (bool, watch.Interface, error) {
		from, err := tracker.Watch(sets, space)
		return true, rig.Forward(from, func() { time.Sleep(late) }), err
	})
	client.PrependReactor("update", "deployments", func(action clienttesting.Action) (bool, runtime.Object, error) {
		// The fake would also update the spec from an update of the status.
		return action.GetSubresource() == "status", action.(clienttesting.UpdateAction).GetObject(), nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	informed := api.Control(ctx, client, "", 1, api.Deployments)
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name, UID: "deployment"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(replicas)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}, Strategy: strategy,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "first"}}},
			},
		},
	}
	rig.Create(client.AppsV1().Deployments(space), d.DeepCopy())
	rig.Until(func() bool { return len(setsOf(client)) == 1 })
	if late == 0 {
		rig.Until(func() bool { return len(informed.Apps().V1().ReplicaSets().Informer().GetStore().ListKeys()) == 1 })
	}
	d.Spec.Template.Spec.Containers[0].Image = "second"
	rig.Update(client.AppsV1().Deployments(space), d)
	for deadline := time.Now().Add(lag / 2); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		sum := int32(0)
		for _, set := range setsOf(client) {
			sum += *set.Spec.Replicas
		}
		most = max(most, sum)
	}
	return most
}

func setsOf(client *fake.Clientset) []appsv1.ReplicaSet {
	return rig.List(client.AppsV1().ReplicaSets(space), "").Items
}
