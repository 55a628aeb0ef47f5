package controlplane

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// The resources of objects that controllers create.
var (
	pods       = corev1.SchemeGroupVersion.WithResource("pods")
	claimed    = []schema.GroupVersionResource{pods, appsv1.SchemeGroupVersion.WithResource("replicasets"), appsv1.SchemeGroupVersion.WithResource("controllerrevisions")}
	controlled = append(slices.Clip(claimed), discoveryv1.SchemeGroupVersion.WithResource("endpointslices"))
)

// some draws an object of a resource from a possibly stale list.
func (u *person) some(ctx context.Context, resource schema.GroupVersionResource, space string) (*unstructured.Unstructured, error) {
	all, err := u.untyped.Resource(resource).Namespace(space).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	if len(all.Items) == 0 {
		return nil, fmt.Errorf("namespace %s has no %s", space, resource.Resource)
	}
	return &all.Items[rand.IntN(len(all.Items))], nil
}

// deleteControlled deletes an object that a controller recreates.
func (u *person) deleteControlled(ctx context.Context, space, _ string) error {
	resource := controlled[rand.IntN(len(controlled))]
	object, err := u.some(ctx, resource, space)
	if err != nil {
		return err
	}
	return u.untyped.Resource(resource).Namespace(space).Delete(ctx, object.GetName(), deletion())
}

// relabel removes a label from an object that a controller has created, or sets it to the value for some name: its
// controller releases the object, and another one may adopt it. Pods of stateful sets are left alone: their names would stay taken.
func (u *person) relabel(ctx context.Context, space, name string) error {
	resource := claimed[rand.IntN(len(claimed))]
	object, err := u.some(ctx, resource, space)
	if err != nil {
		return err
	}
	keys := slices.Sorted(maps.Keys(object.GetLabels()))
	if owner := metav1.GetControllerOf(object); owner == nil || owner.Kind == "StatefulSet" || len(keys) == 0 {
		return fmt.Errorf("nothing is relabelled of %s %s", resource.Resource, object.GetName())
	}
	value := []string{"null", fmt.Sprintf("%q", space+"-"+name)}[rand.IntN(2)]
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, keys[rand.IntN(len(keys))], value)
	_, err = u.untyped.Resource(resource).Namespace(space).Patch(ctx, object.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}
