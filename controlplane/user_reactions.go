package controlplane

import (
	"context"
	"math/rand/v2"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// reactedTo are the resources whose changes make users react, as scripts do that wait for a change: they act on the object while its controllers are
// still at work on it.
var reactedTo = map[Group]schema.GroupVersionResource{
	Deployments:  appsv1.SchemeGroupVersion.WithResource("deployments"),
	ReplicaSets:  appsv1.SchemeGroupVersion.WithResource("replicasets"),
	StatefulSets: appsv1.SchemeGroupVersion.WithResource("statefulsets"),
	DaemonSets:   appsv1.SchemeGroupVersion.WithResource("daemonsets"),
	Jobs:         batchv1.SchemeGroupVersion.WithResource("jobs"),
	Pods:         pods,
	Controlled:   pods,
}

// react reacts to one in so many changes of a group's objects in a namespace, but not again within a pause.
func (u *person) react(ctx context.Context, group Group, space string, until time.Time, note func()) {
	resource := reactedTo[group]
	for ctx.Err() == nil && time.Now().Before(until) {
		watching, cancel := context.WithDeadline(ctx, until)
		changes, err := u.untyped.Resource(resource).Namespace(space).Watch(watching, metav1.ListOptions{})
		if err == nil {
			var next time.Time
			for change := range changes.ResultChan() {
				object, is := change.Object.(*unstructured.Unstructured)
				if !is || time.Now().Before(next) || !oneIn(u.usage.ReactOneIn) {
					continue
				}
				next = time.Now().Add(upTo(u.usage.Pause))
				if u.actOn(ctx, group, resource, object) == nil {
					note()
				}
			}
			changes.Stop()
		}
		cancel()
		time.Sleep(time.Second) // the watch has failed or ended
	}
}

// actOn deletes an object that has a controller, and does to any other what users do to objects of its group.
func (u *person) actOn(ctx context.Context, group Group, resource schema.GroupVersionResource, object *unstructured.Unstructured) error {
	bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if resource == pods || metav1.GetControllerOf(object) != nil {
		return u.untyped.Resource(resource).Namespace(object.GetNamespace()).Delete(bounded, object.GetName(), deletion())
	}
	actions := userActions[group]
	for range 1 + rand.IntN(2) {
		if err := actions[rand.IntN(len(actions))](u, bounded, object.GetNamespace(), object.GetName()); err != nil {
			return err
		}
	}
	return nil
}
