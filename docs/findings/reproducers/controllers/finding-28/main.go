// Finding 28: a claim is provisioned again while its volume is being deleted, so that a volume without a PersistentVolume leaks in the storage system.
package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/server"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/examples/provisioner"
)

const (
	rounds = 10
	class  = "class"
	// Durations; a creation takes effect at its end, a deletion at its beginning.
	creation, deletion = time.Second, 1500 * time.Millisecond
	// late is the delay of the provisioner's watch of PersistentVolumes.
	late = 500 * time.Millisecond
)

var ctx = context.Background()

func main() {
	config := server.Start("no custom resources")
	client := kubernetes.NewForConfigOrDie(config)
	c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: provisioner.Name}
	c.ReclaimPolicy, c.VolumeBindingMode = new(corev1.PersistentVolumeReclaimDelete), new(storagev1.VolumeBindingImmediate)
	rig.Until(func() bool {
		_, err := client.StorageV1().StorageClasses().Create(ctx, c, metav1.CreateOptions{})
		return err == nil
	})
	lagging := server.Away(config, server.Late("persistentvolumes", late))
	s := &storage{}
	go func() { rig.Must(provisioner.Run(ctx, lagging, s)) }()
	for i := range rounds {
		claim(client, fmt.Sprintf("claim-%d", i))
	}
	time.Sleep(10 * time.Second)
	left := 0
	s.volumes.Range(func(any, any) bool { left++; return true })
	rig.Verdict(left, rounds, "the storage has a volume 10s after its PersistentVolume was deleted,")
}

// claim creates a claim, changes it meanwhile, and deletes it once its PersistentVolume exists. It waits until the PersistentVolume is gone.
func claim(client kubernetes.Interface, name string) {
	claims, volumes := client.CoreV1().PersistentVolumeClaims(server.Namespace), client.CoreV1().PersistentVolumes()
	one := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	one.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": provisioner.Name} // as the PersistentVolume controller sets it
	one.Spec.StorageClassName = new(class)
	one = rig.Create(claims, one)
	volume := "pvc-" + string(one.UID)
	time.Sleep(creation / 2)
	one.Labels = map[string]string{"changed": "yes"}
	rig.Update(claims, one)
	var pv *corev1.PersistentVolume
	var err error
	rig.Until(func() bool { pv, err = volumes.Get(ctx, volume, metav1.GetOptions{}); return err == nil })
	rig.Delete(claims, name)
	pv.Status.Phase = corev1.VolumeReleased // as the PersistentVolume controller sets it
	rig.UpdateStatus(volumes, pv)
	rig.Until(func() bool { _, err = volumes.Get(ctx, volume, metav1.GetOptions{}); return err != nil })
}

// storage holds the existing volumes, by name.
type storage struct{ volumes sync.Map }

// Provision implements controller.Provisioner.
func (s *storage) Provision(_ context.Context, options controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	time.Sleep(creation)
	s.volumes.Store(options.PVName, nil)
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: options.PVName}}
	volume.Spec.PersistentVolumeReclaimPolicy = *options.StorageClass.ReclaimPolicy
	volume.Spec.NFS = &corev1.NFSVolumeSource{Server: "storage", Path: "/" + options.PVName}
	return volume, controller.ProvisioningFinished, nil
}

// Delete implements controller.Provisioner.
func (s *storage) Delete(_ context.Context, volume *corev1.PersistentVolume) error {
	s.volumes.Delete(volume.Name)
	time.Sleep(deletion)
	return nil
}
