// Package statefulsets runs the released StatefulSet controller over client-go's fake client, with a StatefulSet of three pods. As in an API server, each
// write has a resourceVersion, by which the controller checks that its informers have observed what it has written.
package statefulsets

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/retry"
	"k8s.io/kubernetes/pkg/controller/statefulset"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	space, name = "red", "web"
	// Replicas is the size of the StatefulSet.
	Replicas = 3
)

// Cluster is a StatefulSet with its controller, and pods that become ready as soon as they exist.
type Cluster struct {
	ctx    context.Context
	client *fake.Clientset
	// refused and held are resources, by name: those that cannot be created, and those whose watches deliver nothing.
	refused, held atomic.Pointer[[]string]
	revision      int64 // of the last write; the fake client sends one request at a time
}

// Start runs the controller until stop is called.
func Start() (c *Cluster, stop func()) {
	ctx, stop := context.WithCancel(context.Background())
	c = &Cluster{ctx: ctx, client: fake.NewClientset(), revision: 1} // 0 is no valid resourceVersion
	c.Refuse()
	c.Hold()
	watches := atomic.Int32{}
	c.client.PrependReactor("*", "*", c.serve)
	c.client.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		from := rig.Value(c.client.Tracker().Watch(action.GetResource(), space))
		watches.Add(1)
		return true, rig.Forward(from, func() {
			for slices.Contains(*c.held.Load(), action.GetResource().Resource) {
				time.Sleep(time.Millisecond)
			}
		}), nil
	})
	api.Control(ctx, c.client, "", 1, api.StatefulSets)
	rig.Until(func() bool { return watches.Load() == 4 })
	go c.runPods()
	return c, stop
}

// Refuse makes the API server refuse to create objects of the given resources, and only those, as it does while an admission webhook is down.
func (c *Cluster) Refuse(resources ...string) { c.refused.Store(&resources) }

// Hold holds back the events of the given resources, and only those.
func (c *Cluster) Hold(resources ...string) { c.held.Store(&resources) }

// serve adds to the fake client resourceVersions, conflicts, UIDs, the phase of new pods, a separate status, and what is refused.
func (c *Cluster) serve(action clienttesting.Action) (bool, runtime.Object, error) {
	tracker, resource := c.client.Tracker(), action.GetResource()
	next := func(object runtime.Object) metav1.Object {
		changed := object.(metav1.Object)
		c.revision++
		changed.SetResourceVersion(strconv.FormatInt(c.revision, 10))
		return changed
	}
	switch action := action.(type) {
	case clienttesting.CreateActionImpl:
		if slices.Contains(*c.refused.Load(), resource.Resource) {
			return true, nil, apierrors.NewInternalError(fmt.Errorf("failed calling webhook"))
		}
		object := action.GetObject().DeepCopyObject()
		created := next(object)
		created.SetUID(types.UID(created.GetResourceVersion()))
		if pod, ok := object.(*corev1.Pod); ok {
			pod.Status.Phase = corev1.PodPending
		}
		return true, object, tracker.Create(resource, object, space)
	case clienttesting.UpdateActionImpl:
		object := action.GetObject().DeepCopyObject()
		current, err := tracker.Get(resource, space, object.(metav1.Object).GetName())
		if err != nil {
			return true, nil, err
		}
		if object.(metav1.Object).GetResourceVersion() != current.(metav1.Object).GetResourceVersion() {
			return true, nil, apierrors.NewConflict(resource.GroupResource(), name, fmt.Errorf("the object has been modified"))
		}
		if set, ok := current.(*appsv1.StatefulSet); ok && action.GetSubresource() == "status" {
			set.Status = object.(*appsv1.StatefulSet).Status
			object = set
		}
		next(object)
		return true, object, tracker.Update(resource, object, space)
	case clienttesting.DeleteActionImpl:
		object, err := tracker.Get(resource, space, action.GetName())
		if err != nil {
			return true, nil, err
		}
		next(object)
		rig.Must(tracker.Update(resource, object, space)) // so that the deletion has a resourceVersion of its own
		return true, nil, tracker.Delete(resource, space, action.GetName())
	case clienttesting.ListActionImpl:
		list := rig.Value(tracker.List(resource, action.GetKind(), space))
		found := rig.Value(meta.ListAccessor(list))
		found.SetResourceVersion(strconv.FormatInt(c.revision, 10))
		return true, list, nil
	}
	return false, nil, nil
}

// runPods makes all pods ready.
func (c *Cluster) runPods() {
	for ; c.ctx.Err() == nil; time.Sleep(time.Millisecond) {
		for _, pod := range c.pods() {
			if pod.Status.Phase != corev1.PodRunning {
				pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
				_, _ = c.client.CoreV1().Pods(space).UpdateStatus(c.ctx, &pod, metav1.UpdateOptions{}) // it may have been deleted
			}
		}
	}
}

func (c *Cluster) pods() []corev1.Pod {
	return rig.List(c.client.CoreV1().Pods(space), "").Items
}

// Create creates the StatefulSet, with the default history limit.
func (c *Cluster) Create(partition int32, image string) {
	labels := map[string]string{"app": name}
	rig.Create(c.client.AppsV1().StatefulSets(space), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name, Generation: 1},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(Replicas)), Selector: &metav1.LabelSelector{MatchLabels: labels}, RevisionHistoryLimit: new(int32(10)),
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}}},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
				Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition},
			},
		},
	})
}

// Change changes the image in the template.
func (c *Cluster) Change(image string) {
	rig.Must(retry.OnError(retry.DefaultBackoff, apierrors.IsConflict, func() error {
		set := c.Set()
		set.Generation++
		set.Spec.Template.Spec.Containers[0].Image = image
		_, err := c.client.AppsV1().StatefulSets(space).Update(c.ctx, set, metav1.UpdateOptions{})
		return err
	}))
}

// Set returns the StatefulSet.
func (c *Cluster) Set() *appsv1.StatefulSet {
	return rig.Get(c.client.AppsV1().StatefulSets(space), name)
}

// Current returns the image of the revision that is the current one by the status, or "none" if the revision does not exist.
func (c *Cluster) Current() string {
	revision, err := c.client.AppsV1().ControllerRevisions(space).Get(c.ctx, c.Set().Status.CurrentRevision, metav1.GetOptions{})
	if !rig.Found(err) {
		return "none"
	}
	return rig.Value(statefulset.ApplyRevision(c.Set(), revision)).Spec.Template.Spec.Containers[0].Image
}

// Evict removes a pod.
func (c *Cluster) Evict(ordinal int) {
	rig.Delete(c.client.CoreV1().Pods(space), fmt.Sprint(name, "-", ordinal))
}

// Images returns the images of the pods, by ordinal, with "none" for a pod that does not exist.
func (c *Cluster) Images() [Replicas]string {
	images := [Replicas]string{"none", "none", "none"}
	for _, pod := range c.pods() {
		images[pod.Name[len(name)+1]-'0'] = pod.Spec.Containers[0].Image
	}
	return images
}

// Until waits up to 10 s for pods with the given images, "" for any, and for a status of the last template and all of them.
func (c *Cluster) Until(images ...string) {
	rig.Until(func() bool {
		for i, image := range c.Images() {
			if image == "none" || images[i] != "" && image != images[i] {
				return false
			}
		}
		set := c.Set()
		return set.Status.ObservedGeneration == set.Generation && set.Status.ReadyReplicas == Replicas
	})
}
