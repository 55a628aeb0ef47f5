package rig

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Value is like Must, and returns the result that comes without an error.
func Value[V any](result V, err error) V {
	Must(err)
	return result
}

// Create creates an object that must not exist yet, and returns what is stored.
func Create[O any](client interface {
	Create(context.Context, O, metav1.CreateOptions) (O, error)
}, object O) O {
	return Value(client.Create(context.Background(), object, metav1.CreateOptions{}))
}

// Get returns an object that must exist.
func Get[O any](client interface {
	Get(context.Context, string, metav1.GetOptions) (O, error)
}, name string) O {
	return Value(client.Get(context.Background(), name, metav1.GetOptions{}))
}

// List returns the list of the objects that a label selector selects, or of all if it is "".
func List[L any](client interface {
	List(context.Context, metav1.ListOptions) (L, error)
}, selector string) L {
	return Value(client.List(context.Background(), metav1.ListOptions{LabelSelector: selector}))
}

// Update updates an object, and returns what is stored.
func Update[O any](client interface {
	Update(context.Context, O, metav1.UpdateOptions) (O, error)
}, object O) O {
	return Value(client.Update(context.Background(), object, metav1.UpdateOptions{}))
}

// UpdateStatus updates the status of an object.
func UpdateStatus[O any](client interface {
	UpdateStatus(context.Context, O, metav1.UpdateOptions) (O, error)
}, object O) {
	Value(client.UpdateStatus(context.Background(), object, metav1.UpdateOptions{}))
}

// Delete deletes an object that must exist. There may be options.
func Delete(client interface {
	Delete(context.Context, string, metav1.DeleteOptions) error
}, name string, options ...metav1.DeleteOptions) {
	Must(client.Delete(context.Background(), name, append(options, metav1.DeleteOptions{})[0]))
}

// Patch merges a patch into an object or a subresource of it.
func Patch[O any](client interface {
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (O, error)
}, name, patch string, subresources ...string) {
	Value(client.Patch(context.Background(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...))
}

// Gone reports whether there is no object of a name.
func Gone[O any](client interface {
	Get(context.Context, string, metav1.GetOptions) (O, error)
}, name string) bool {
	_, err := client.Get(context.Background(), name, metav1.GetOptions{})
	return !Found(err)
}

// Found reports whether a request has found its object. Any other error ends the process as Must does.
func Found(err error) bool {
	if !apierrors.IsNotFound(err) {
		Must(err)
	}
	return err == nil
}

// Await is like Wait, for what must be met: otherwise, it ends the process as Must does, and says so.
func Await(interval, patience time.Duration, otherwise string, condition func() bool) (took time.Duration) {
	took, met := Wait(interval, patience, condition)
	if !met {
		Must(errors.New(otherwise))
	}
	return took
}
