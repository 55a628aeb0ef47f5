package main

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/watchsim/watchsim/examples/operator/api/v1"
)

// release deletes the pods and volumes of all deleted or terminating databases with a name, and
// returns how many there were. It does not rely on caches: it lists first and then reads the
// database, so that whatever is not of that database belongs to an earlier one, whose UID is never
// reused.
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

// deleteExactly deletes an object, but not another one of the same name.
func (r *Reconciler) deleteExactly(ctx context.Context, object client.Object) error {
	return client.IgnoreNotFound(r.Delete(ctx, object, client.Preconditions{UID: ptr.To(object.GetUID())}))
}

// releaseByName deletes the pods and volumes of a database as several operators did in which Sieve
// found this bug (README.md): it learns from a cache that the database is deleted and what it owns,
// and deletes whatever has these names.
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
