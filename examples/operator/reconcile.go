package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/watchsim/watchsim/examples/operator/api/v1"
)

// finalizer keeps a database until its volumes are deleted.
const finalizer = "example.com/volumes"

// again requeues a request whose progress the caches do not show.
var again = ctrl.Result{RequeueAfter: time.Second}

// Reconciler moves databases to their desired state.
type Reconciler struct {
	client.Client               // reads from caches, which may be stale
	Live          client.Reader // reads from an API server
	// ReleaseByName turns on the bug of releaseByName.
	ReleaseByName bool
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	database := &v1.Database{}
	if err := r.Get(ctx, request.NamespacedName, database); apierrors.IsNotFound(err) {
		// A replica that had not observed the deletion may have created objects since.
		_, err := r.release(ctx, request.NamespacedName)
		return ctrl.Result{}, err
	} else if err != nil {
		return ctrl.Result{}, err
	}
	if !database.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, database)
	}
	if controllerutil.AddFinalizer(database, finalizer) {
		return ctrl.Result{}, r.Update(ctx, database)
	}
	objects, err := objectsOf(ctx, r, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	found := map[string]client.Object{}
	for _, object := range objects {
		if !isFor(object, database) && !r.ReleaseByName {
			// It belongs to another database of the same name, so this one must wait.
			_, err := r.release(ctx, request.NamespacedName)
			return again, err
		}
		found[object.GetName()] = object
	}
	size, err := r.resize(ctx, database, found)
	if err != nil {
		return ctrl.Result{}, err
	}
	status := v1.DatabaseStatus{ObservedGeneration: database.Generation, Size: size}
	if database.Status == status {
		return ctrl.Result{}, nil
	}
	database.Status = status
	return ctrl.Result{}, r.Status().Update(ctx, database)
}

// resize creates the volumes and pods that a database lacks, and deletes surplus pods. It returns
// how many servers have both.
func (r *Reconciler) resize(ctx context.Context, database *v1.Database, found map[string]client.Object) (size int32, err error) {
	wanted := map[string]bool{}
	for server := range int(database.Spec.Size) {
		volume, pod := volumeOf(database, server), podOf(database, server)
		wanted[pod.Name] = true
		switch {
		case found[volume.Name] == nil:
			err = r.Create(ctx, volume) // the pod follows when the cache has the volume
		case found[pod.Name] == nil:
			err = r.Create(ctx, pod)
		default:
			size++
		}
		if err != nil && !apierrors.IsAlreadyExists(err) { // the cache will have it soon
			return 0, err
		}
	}
	for name, object := range found {
		if _, isPod := object.(*corev1.Pod); isPod && !wanted[name] {
			if err := r.deleteExactly(ctx, object); err != nil {
				return 0, err
			}
		}
	}
	return size, nil
}

// finalize removes the finalizer of a database once its pods and volumes are deleted.
func (r *Reconciler) finalize(ctx context.Context, database *v1.Database) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(database, finalizer) {
		return ctrl.Result{}, nil
	}
	left, err := r.release(ctx, client.ObjectKeyFromObject(database))
	if err != nil {
		return ctrl.Result{}, err
	}
	if left > 0 {
		return again, nil
	}
	controllerutil.RemoveFinalizer(database, finalizer)
	return ctrl.Result{}, client.IgnoreNotFound(r.Update(ctx, database))
}
