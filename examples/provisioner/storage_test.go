package provisioner

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// storage is a system that holds volumes, at most one of each name. A caller that gives up does not stop its request.
type storage struct {
	mu      sync.Mutex
	volumes map[string]bool
}

// Provision implements controller.Provisioner.
func (s *storage) Provision(ctx context.Context, options controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	if err := takes(ctx); err != nil {
		return nil, controller.ProvisioningNoChange, err
	}
	s.set(options.PVName, true)
	if err := takes(ctx); err != nil {
		return nil, controller.ProvisioningInBackground, err
	}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: options.PVName}}
	volume.Spec.PersistentVolumeReclaimPolicy = *options.StorageClass.ReclaimPolicy
	volume.Spec.AccessModes = options.PVC.Spec.AccessModes
	volume.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	volume.Spec.NFS = &corev1.NFSVolumeSource{Server: "storage", Path: "/" + options.PVName}
	return volume, controller.ProvisioningFinished, nil
}

// Delete implements controller.Provisioner. It is idempotent.
func (s *storage) Delete(ctx context.Context, volume *corev1.PersistentVolume) error {
	if err := takes(ctx); err != nil {
		return err
	}
	s.set(volume.Name, false)
	return takes(ctx)
}

// takes makes the caller wait, and fails now and then without a fault.
func takes(ctx context.Context) error {
	select {
	case <-time.After(rand.N(time.Second)):
	case <-ctx.Done():
		return ctx.Err()
	}
	if rand.IntN(20) == 0 {
		return errors.New("the storage is busy")
	}
	return nil
}

func (s *storage) set(name string, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if there {
		s.volumes[name] = true
	} else {
		delete(s.volumes, name)
	}
}

func (s *storage) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.volumes))
}
