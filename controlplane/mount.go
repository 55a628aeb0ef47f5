package controlplane

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// claimProtection keeps a claim that pods use.
const claimProtection = "kubernetes.io/pvc-protection"

// claimOf returns the name of the claim that a pod uses as a volume, "" for other volumes. The ephemeral volume controller creates the
// claims of ephemeral volumes (k8s.io/component-helpers/storage/ephemeral).
func claimOf(pod *corev1.Pod, volume *corev1.Volume) string {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName
	case volume.Ephemeral != nil:
		return pod.Name + "-" + volume.Name
	}
	return ""
}

// mount returns an error until all claims of a pod are bound, to volumes that are bound to them: a kubelet starts no containers
// before (getPVCExtractPV and getPVSpec in pkg/kubelet/volumemanager/populator).
func (k *kubelet) mount(ctx context.Context, pod *corev1.Pod) error {
	for i := range pod.Spec.Volumes {
		name := claimOf(pod, &pod.Spec.Volumes[i])
		if name == "" {
			continue
		}
		claim, err := k.client.CoreV1().PersistentVolumeClaims(pod.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if pod.Spec.Volumes[i].Ephemeral != nil && !metav1.IsControlledBy(claim, pod) {
			return fmt.Errorf("claim %s was not created for pod %s", name, pod.Name)
		}
		if claim.DeletionTimestamp != nil && !slices.Contains(claim.Finalizers, claimProtection) || claim.Status.Phase != corev1.ClaimBound || claim.Spec.VolumeName == "" {
			return fmt.Errorf("claim %s is not bound, or no longer protected", name)
		}
		volume, err := k.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if of := volume.Spec.ClaimRef; of == nil || of.UID != claim.UID {
			return fmt.Errorf("volume %s is not bound to claim %s", volume.Name, name)
		}
	}
	return nil
}
