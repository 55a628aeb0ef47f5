package controlplane

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// claim returns the claim of a name in a namespace, nil for none.
func (s *state) claim(namespace, name string) *corev1.PersistentVolumeClaim {
	at := slices.IndexFunc(s.claims, func(c corev1.PersistentVolumeClaim) bool { return c.Namespace == namespace && c.Name == name })
	if at < 0 {
		return nil
	}
	return &s.claims[at]
}

// hasClaims reports whether all claims exist that a pod uses and that its user creates, and no other pod has one that is for one pod.
func (s *state) hasClaims(pod *corev1.Pod) bool {
	return !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		if v.PersistentVolumeClaim == nil || ownerKind(pod) == "StatefulSet" {
			return false
		}
		claim := s.claim(pod.Namespace, v.PersistentVolumeClaim.ClaimName)
		return claim == nil || claim.DeletionTimestamp != nil ||
			isForOne(claim) && s.user(claim, func(p *corev1.Pod) bool { return p.UID != pod.UID && p.Spec.NodeName != "" && !isOver(p) }) != nil
	})
}

// hasOrphan reports whether the claim of one of a pod's ephemeral volumes has no owner. The pod waits for ever, as the claim was not created for it
// (kubernetes.io/docs/concepts/storage/ephemeral-volumes: PersistentVolumeClaim naming).
func (s *state) hasOrphan(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		claim := s.claim(pod.Namespace, claimOf(pod, &v))
		return v.Ephemeral != nil && claim != nil && len(claim.OwnerReferences) == 0
	})
}

// isUsed reports whether something keeps a terminating claim or volume: a pod on a node, or a claim.
func (s *state) isUsed(o metav1.Object) bool {
	switch o := o.(type) {
	case *corev1.PersistentVolumeClaim:
		return s.user(o, func(p *corev1.Pod) bool { return p.Spec.NodeName != "" }) != nil
	case *corev1.PersistentVolume:
		return s.bound(o) != nil
	}
	return false
}

// user returns a pod that uses a claim, of those that count, nil for none.
func (s *state) user(claim *corev1.PersistentVolumeClaim, counts func(*corev1.Pod) bool) *corev1.Pod {
	for i := range s.pods {
		pod := &s.pods[i]
		if pod.Namespace == claim.Namespace && counts(pod) && slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return claimOf(pod, &v) == claim.Name }) {
			return pod
		}
	}
	return nil
}

// bound returns the claim that is bound to a volume, nil for none.
func (s *state) bound(volume *corev1.PersistentVolume) *corev1.PersistentVolumeClaim {
	if ref := volume.Spec.ClaimRef; ref != nil {
		if claim := s.claim(ref.Namespace, ref.Name); claim != nil && claim.UID == ref.UID {
			return claim
		}
	}
	return nil
}

// isOurs reports whether a storage class is one of those that have a provisioner here.
func isOurs(class string) bool {
	return slices.Contains([]string{classNow, classLate, classKept}, class)
}

// claimsBind: each claim is bound to a volume, unless the volume waits for a pod, and no pod that uses the claim can be placed.
func (s *state) claimsBind() error {
	for _, claim := range s.claims {
		class := ptr.Deref(claim.Spec.StorageClassName, "")
		if !isOurs(class) || claim.DeletionTimestamp != nil || claim.Status.Phase == corev1.ClaimBound {
			continue
		}
		waits := class == classLate && claim.Status.Phase == corev1.ClaimPending &&
			s.user(&claim, func(p *corev1.Pod) bool { return lives(p) && s.hasRoom(p) && s.hasClaims(p) }) == nil
		if !waits {
			return wrongf(&claim, "claim %s of class %s is %s, of volume %q", describe(&claim), class, claim.Status.Phase, claim.Spec.VolumeName)
		}
	}
	return nil
}

// volumesFollow: a volume is bound to a claim, or it is released and kept.
func (s *state) volumesFollow() error {
	for _, volume := range s.volumes {
		if !isOurs(volume.Spec.StorageClassName) {
			continue
		}
		want := corev1.VolumeBound
		if s.bound(&volume) == nil {
			want = corev1.VolumeReleased
		}
		kept := volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRetain
		if volume.Status.Phase != want || want == corev1.VolumeReleased && !kept {
			return wrongf(&volume, "volume %s is %s with reclaim policy %s, and its claim is %v", volume.Name, volume.Status.Phase, volume.Spec.PersistentVolumeReclaimPolicy, volume.Spec.ClaimRef)
		}
	}
	return nil
}

// claimsBelong: a claim of a stateful set's pod belongs to the set if it is deleted with the set, and to nobody if it is kept
// (kubernetes.io/docs/concepts/workloads/controllers/statefulset: PersistentVolumeClaim retention).
func (s *state) claimsBelong() error {
	for _, set := range s.stateful {
		policy := set.Spec.PersistentVolumeClaimRetentionPolicy
		if policy == nil || set.DeletionTimestamp != nil || s.short(set.Namespace) {
			continue // pods that are to go may wait for others to become ready
		}
		for i := range s.pods {
			pod := &s.pods[i]
			if ownerOf(pod) != set.UID || !lives(pod) {
				continue
			}
			for _, template := range set.Spec.VolumeClaimTemplates {
				claim := s.claim(set.Namespace, template.Name+"-"+pod.Name)
				if claim == nil || claim.DeletionTimestamp != nil {
					continue
				}
				owned := slices.ContainsFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == set.UID })
				if want := policy.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType; owned != want || slices.ContainsFunc(claim.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == pod.UID }) {
					return wrongf(claim, "claim %s of stateful set %s, whose policy is %s and %s, has the owners %v", describe(claim), describe(&set), policy.WhenDeleted, policy.WhenScaled, claim.OwnerReferences)
				}
			}
		}
	}
	return nil
}
