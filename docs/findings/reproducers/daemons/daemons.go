// Package daemons runs the released DaemonSet controller over client-go's fake client, in a cluster whose nodes run the pods that it creates.
package daemons

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	daemonutil "k8s.io/kubernetes/pkg/controller/daemon/util"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// Space and Name are the namespace and the name of the DaemonSet.
const Space, Name = "red", "a"

var podResource, setResource = corev1.SchemeGroupVersion.WithResource("pods"), appsv1.SchemeGroupVersion.WithResource("daemonsets")

// Set returns a DaemonSet whose pods run an image.
func Set(image string, strategy appsv1.RollingUpdateDaemonSet) *appsv1.DaemonSet {
	labels := map[string]string{"app": Name}
	return &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: Space, Name: Name}, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, RevisionHistoryLimit: new(int32(10)),
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}},
		},
		UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: &strategy},
	}}
}

// Cluster returns a client of a cluster of some nodes. A pod becomes ready soon after its creation, at the time that ready returns for its image.
func Cluster(nodes int, ready func(image string) time.Time) *fake.Clientset {
	client, number := fake.NewClientset(), atomic.Int64{}
	tracker := client.Tracker()
	for n := range nodes {
		rig.Must(tracker.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", n)}}))
	}
	// What the API server, the scheduler and the kubelets do.
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		pod := action.(clienttesting.CreateAction).GetObject().(*corev1.Pod).DeepCopy()
		node := rig.Value(daemonutil.GetTargetNodeName(pod))
		pod.Namespace, pod.Name = Space, fmt.Sprintf("%s-%d", Name, number.Add(1))
		pod.UID, pod.CreationTimestamp, pod.Spec.NodeName = types.UID(pod.Name), metav1.Now().Rfc3339Copy(), node
		rig.Must(tracker.Create(podResource, pod, Space))
		time.AfterFunc(100*time.Millisecond, func() {
			found, err := tracker.Get(podResource, Space, pod.Name)
			if err != nil {
				return
			}
			running := found.(*corev1.Pod).DeepCopy()
			// The controller ignores updates with the same resource version. It waits for the numbers of its own writes, which the fake does not assign.
			running.ResourceVersion = "running"
			since := metav1.NewTime(ready(running.Spec.Containers[0].Image)).Rfc3339Copy()
			running.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since}}}
			_ = tracker.Update(podResource, running, Space)
		})
		return true, pod, nil
	})
	// As an API server does, and the fake client does not: an update of the status leaves the spec and another DaemonSet alone.
	client.PrependReactor("update", "daemonsets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "status" {
			return false, nil, nil
		}
		written := action.(clienttesting.UpdateAction).GetObject().(*appsv1.DaemonSet)
		found, err := tracker.Get(setResource, Space, Name)
		if err != nil || found.(*appsv1.DaemonSet).UID != written.UID {
			return true, nil, apierrors.NewConflict(setResource.GroupResource(), Name, err)
		}
		current := found.(*appsv1.DaemonSet).DeepCopy()
		current.Status = written.Status
		return true, current, tracker.Update(setResource, current, Space)
	})
	return client
}

// Start runs the controller with informers of its own until it is stopped.
func Start(client *fake.Clientset) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	api.Control(ctx, client, "", 1, api.DaemonSets)
	return cancel
}

// Pods returns the pods that run an image and are ready.
func Pods(client *fake.Clientset, image string) (running []corev1.Pod) {
	for _, pod := range rig.List(client.CoreV1().Pods(Space), "").Items {
		if pod.Spec.Containers[0].Image == image && pod.Status.Phase == corev1.PodRunning {
			running = append(running, pod)
		}
	}
	return running
}
