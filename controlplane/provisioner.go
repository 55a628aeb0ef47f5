package controlplane

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// provisioner is the name of the program that provisions volumes, and provisionerName the one that storage classes refer to.
const (
	provisioner     = "provisioner"
	provisionerName = "example.com/volumes"
)

// The storage classes: volumes are provisioned at once, or once a pod that uses them is placed; and those of one class outlive their claims.
const (
	classNow  = "now"
	classLate = "late"
	classKept = "kept"
)

// classes returns the storage classes.
func classes() []*storagev1.StorageClass {
	class := func(name string, policy corev1.PersistentVolumeReclaimPolicy, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisionerName, ReclaimPolicy: &policy, VolumeBindingMode: &mode}
	}
	return []*storagev1.StorageClass{
		class(classNow, corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingImmediate),
		class(classLate, corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingWaitForFirstConsumer),
		class(classKept, corev1.PersistentVolumeReclaimRetain, storagev1.VolumeBindingImmediate),
	}
}

// Provisioner is a program for simtest that provisions volumes and deletes them, with the released controller of external
// provisioners, on storage that every node reaches.
func (p *Plane) Provisioner(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	controller.NewProvisionController(ctx, client, provisionerName, storage{&p.Workload},
		controller.LeaderElection(false), controller.MetricsPort(0), controller.AddFinalizer(true),
		controller.CreateProvisionedPVInterval(time.Second),
		// By default, a claim is given up after some failures, and retried after up to a quarter of an hour.
		controller.RateLimiter(workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, 10*time.Second)),
		controller.FailedProvisionThreshold(0), controller.FailedDeleteThreshold(0),
	).Run(ctx)
	return nil
}

// storage provisions volumes that are nothing but their objects.
type storage struct{ workload *Workload }

// Provision implements controller.Provisioner.
func (s storage) Provision(ctx context.Context, options controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	if err := s.work(ctx); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy, AccessModes: options.PVC.Spec.AccessModes, Capacity: options.PVC.Spec.Resources.Requests,
			PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "storage", Path: "/" + options.PVName}},
		},
	}, controller.ProvisioningFinished, nil
}

// Delete implements controller.Provisioner.
func (s storage) Delete(ctx context.Context, _ *corev1.PersistentVolume) error { return s.work(ctx) }

// work takes a while, and fails now and then.
func (s storage) work(ctx context.Context) error {
	most := s.workload.Storage
	if time.Now().After(s.workload.Healthy) {
		most = min(most, time.Second)
	}
	select {
	case <-time.After(upTo(most)):
	case <-ctx.Done():
		return ctx.Err()
	}
	if rand.IntN(20) == 0 {
		return errors.New("the storage is busy")
	}
	return nil
}
