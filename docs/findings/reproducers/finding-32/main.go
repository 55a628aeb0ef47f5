// Finding 32: the only active ReplicaSet of a Deployment has an old template and the desired size, but its annotation has another desired size. Every sync
// treats this as a scaling event, and the Deployment is never rolled out.
package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	space, name = "red", "a"
	// wait is how long the controller has; a rollout starts within milliseconds.
	wait = 3 * time.Second
)

func main() {
	stuck := false
	for _, before := range []int32{1, 3} {
		took, rolledOut := rollout(before)
		if rolledOut {
			fmt.Printf("adopted from a deployment of %d pods: the new template is rolled out after %v\n", before, took.Round(10*time.Millisecond))
			continue
		}
		fmt.Printf("adopted from a deployment of %d pods: the new template is not rolled out within %v\n", before, wait)
		stuck = stuck || before == 3
	}
	rig.VerdictOfOne(stuck, "a deployment of one pod is not rolled out over a replica set of one pod that was part of a larger deployment")
}

// rollout runs the Deployment controller with a new Deployment of one pod, and a ReplicaSet of one pod with an old template that a Deployment of another
// size orphaned during a rollout. It returns how long it takes until a ReplicaSet of the new template exists.
func rollout(before int32) (time.Duration, bool) {
	labels := map[string]string{"app": name}
	template := func(image string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}}}
	}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name, UID: "deployment"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template("second"),
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
		},
	}
	old := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name + "-first", UID: "set", Labels: labels},
		Spec:       appsv1.ReplicaSetSpec{Replicas: new(int32(1)), Selector: d.Spec.Selector, Template: template("first")},
	}
	deploymentutil.SetReplicasAnnotations(old, before, before)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewClientset(old, d)
	api.Control(ctx, client, "", 1, api.Deployments)
	return rig.Wait(time.Millisecond, wait, func() bool { return len(rig.List(client.AppsV1().ReplicaSets(space), "").Items) > 1 })
}
