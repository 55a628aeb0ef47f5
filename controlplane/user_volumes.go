package controlplane

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// claimName is the name of the claim that users create under a name.
func claimName(name string) string { return "data-of-" + name }

// claimSpec draws the specification of a claim.
func claimSpec(random *rand.Rand) corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		StorageClassName: new([]string{classNow, classLate, classKept}[random.IntN(3)]),
		AccessModes:      []corev1.PersistentVolumeAccessMode{[]corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteOncePod}[random.IntN(2)]},
		Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}
}

// usesVolumes reports whether users use volumes.
func (u *person) usesVolumes() bool { return slices.Contains(u.usage.Groups, Volumes) }

// addScratch gives the pods of some templates a volume that lives as long as the pod.
func (u *person) addScratch(spec *corev1.PodSpec, manifest *rand.Rand) {
	if u.usesVolumes() && manifest.IntN(4) == 0 {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "scratch", VolumeSource: corev1.VolumeSource{
			Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claimSpec(manifest)}},
		}})
	}
}

// addClaim lets some pods use a claim, which may not exist, and which others may use as well.
func (u *person) addClaim(spec *corev1.PodSpec) {
	if u.usesVolumes() && rand.IntN(2) == 0 {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(u.usage.name())},
		}})
	}
}

// addClaims gives some stateful sets a claim for each of their pods, which outlives the pod, and with some policies is deleted when they are scaled down or deleted.
func (u *person) addClaims(spec *appsv1.StatefulSetSpec, manifest *rand.Rand) {
	if !u.usesVolumes() || manifest.IntN(2) == 0 {
		return
	}
	spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: claimSpec(manifest)}}
	policies := []appsv1.PersistentVolumeClaimRetentionPolicyType{appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
	spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: policies[rand.IntN(2)], WhenScaled: policies[rand.IntN(2)]}
}

func (u *person) createClaim(ctx context.Context, space, name string) error {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: claimName(name)}, Spec: claimSpec(u.manifest())}
	_, err := u.client.CoreV1().PersistentVolumeClaims(space).Create(ctx, claim, metav1.CreateOptions{})
	return err
}

// deleteClaim deletes any claim, also one that a controller has created.
func (u *person) deleteClaim(ctx context.Context, space, _ string) error {
	claims := u.client.CoreV1().PersistentVolumeClaims(space)
	found, err := claims.List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	if len(found.Items) == 0 {
		return errors.New("no claim exists")
	}
	return claims.Delete(ctx, found.Items[rand.IntN(len(found.Items))].Name, metav1.DeleteOptions{})
}

// deleteVolume deletes a volume that is bound or has been: it goes once no claim is bound to it. A provisioner that has provisioned
// a volume for a claim does not do so again if somebody deletes that before the claim is bound to it.
func (u *person) deleteVolume(ctx context.Context, _, _ string) error {
	volumes := u.client.CoreV1().PersistentVolumes()
	found, err := volumes.List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return err
	}
	found.Items = slices.DeleteFunc(found.Items, func(v corev1.PersistentVolume) bool {
		return v.Status.Phase != corev1.VolumeBound && v.Status.Phase != corev1.VolumeReleased
	})
	if len(found.Items) == 0 {
		return errors.New("no volume has been bound")
	}
	return volumes.Delete(ctx, found.Items[rand.IntN(len(found.Items))].Name, metav1.DeleteOptions{})
}
