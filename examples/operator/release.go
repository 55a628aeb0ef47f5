package main

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/watchsim/watchsim/examples/operator/api/v1"
)

// release deletes the pods and volumes of all databases of a name that are deleted or being
// deleted, and returns how many there were. It relies on no cache: it lists first and looks at
// the database then, so that whatever it has found and is not of that database is of an
// earlier one, whose UID never comes back.
func (r *Reconciler) release(ctx context.Context, name types.NamespacedName) (left int, err error) {
	if r.ReleaseByName {
		return r.releaseByName(ctx, name)
	}
	objects, err := objectsOf(ctx, r.Live, name)
	if err != nil {
		return 0, err
	}
	database := &v1.Database{}
	if err := r.Live.Get(ctx, name, database); err != nil && !apierrors.IsNotFound(err) {
		return 0, err
	}
	for _, object := range objects {
		if isFor(object, database) && database.DeletionTimestamp.IsZero() {
			continue
		}
		left++
		if err := r.deleteExactly(ctx, object); err != nil {
			return left, err
		}
	}
	return left, nil
}

// deleteExactly deletes an object, but not another one that has got its name.
func (r *Reconciler) deleteExactly(ctx context.Context, object client.Object) error {
	return client.IgnoreNotFound(r.Delete(ctx, object, client.Preconditions{UID: ptr.To(object.GetUID())}))
}

// releaseByName deletes the pods and volumes of a database as several operators did in which
// Sieve has found it (README.md): both that the database is deleted and what there is of it are
// known from a cache, and what has these names goes.
func (r *Reconciler) releaseByName(ctx context.Context, name types.NamespacedName) (left int, err error) {
	objects, err := objectsOf(ctx, r, name)
	if err != nil {
		return 0, err
	}
	for _, object := range objects {
		if err := client.IgnoreNotFound(r.Delete(ctx, object)); err != nil {
			return len(objects), err
		}
	}
	return len(objects), nil
}
