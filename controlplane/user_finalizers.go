package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// finalizer is one of users, as that of a controller that has to release something outside the cluster first: an object stays, with a
// deletionTimestamp, until they have removed it.
const finalizer = "example.com/release"

// finalized are the resources whose objects may have it.
var finalized = append(slices.Clip(controlled), appsv1.SchemeGroupVersion.WithResource("deployments"), appsv1.SchemeGroupVersion.WithResource("statefulsets"),
	appsv1.SchemeGroupVersion.WithResource("daemonsets"), batchv1.SchemeGroupVersion.WithResource("jobs"))

// addFinalizers adds the finalizer to all objects of a resource, as a webhook does. It returns an error if none gets it.
func (u *person) addFinalizers(ctx context.Context, space, _ string) error {
	resource := finalized[rand.IntN(len(finalized))]
	all, err := u.untyped.Resource(resource).Namespace(space).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	var errs []error
	for _, object := range all.Items {
		if !isFinalized(&object) && object.GetDeletionTimestamp() == nil {
			errs = append(errs, u.setFinalizers(ctx, resource, &object, append(object.GetFinalizers(), finalizer)))
		}
	}
	if len(errs) == 0 {
		return fmt.Errorf("no %s gets a finalizer", resource.Resource)
	}
	return errors.Join(errs...)
}

// addFinalizer adds the finalizer to an object.
func (u *person) addFinalizer(ctx context.Context, space, _ string) error {
	resource := finalized[rand.IntN(len(finalized))]
	object, err := u.some(ctx, resource, space)
	if err != nil {
		return err
	}
	if object.GetDeletionTimestamp() != nil || isFinalized(object) {
		return fmt.Errorf("%s %s gets no finalizer", resource.Resource, object.GetName())
	}
	return u.setFinalizers(ctx, resource, object, append(object.GetFinalizers(), finalizer))
}

// removeFinalizers removes the finalizer from all objects of a resource that are being deleted.
func (u *person) removeFinalizers(ctx context.Context, space, _ string) error {
	return u.removeFrom(ctx, finalized[rand.IntN(len(finalized))], space, func(o *unstructured.Unstructured) bool { return o.GetDeletionTimestamp() != nil })
}

// removeFrom removes the finalizer from some objects of a resource. It returns an error if none has it.
func (u *person) removeFrom(ctx context.Context, resource schema.GroupVersionResource, space string, these func(*unstructured.Unstructured) bool) error {
	all, err := u.untyped.Resource(resource).Namespace(space).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	all.Items = slices.DeleteFunc(all.Items, func(o unstructured.Unstructured) bool {
		return !isFinalized(&o) || !these(&o)
	})
	if len(all.Items) == 0 {
		return errNoFinalizer
	}
	var errs []error
	for _, object := range all.Items {
		others := slices.DeleteFunc(object.GetFinalizers(), func(name string) bool { return name == finalizer })
		errs = append(errs, u.setFinalizers(ctx, resource, &object, others))
	}
	return errors.Join(errs...)
}

// errNoFinalizer means that there was nothing to do.
var errNoFinalizer = errors.New("no object has the finalizer")

func (u *person) setFinalizers(ctx context.Context, resource schema.GroupVersionResource, object *unstructured.Unstructured, names []string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": names, "resourceVersion": object.GetResourceVersion()}})
	if err != nil {
		return err
	}
	_, err = u.untyped.Resource(resource).Namespace(object.GetNamespace()).Patch(ctx, object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// isFinalized reports whether an object has the finalizer.
func isFinalized(o metav1.Object) bool { return slices.Contains(o.GetFinalizers(), finalizer) }

// Release removes the finalizers of users, which stay when [Usage] says so. It is a program for simtest.
func Release(ctx context.Context, config *rest.Config) error {
	u, err := newPerson(config, Usage{})
	if err != nil {
		return err
	}
	u.removeAllFinalizers(ctx)
	<-ctx.Done()
	return nil
}

// removeAllFinalizers removes the finalizer from all objects. It looks again after requests have ended that were sent before.
func (u *person) removeAllFinalizers(ctx context.Context) {
	for clean := 0; clean < 3 && ctx.Err() == nil; time.Sleep(10 * time.Second) {
		clean++
		for _, resource := range finalized {
			for _, space := range spaces {
				if err := u.removeFrom(ctx, resource, space, func(*unstructured.Unstructured) bool { return true }); err != errNoFinalizer {
					clean = 0
				}
			}
		}
	}
}
