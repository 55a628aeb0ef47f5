package controlplane

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"
)

// circles reports whether an object is, or waits for, a pod and a claim that wait for each other: the pod is deleted in the foreground and owns the claim,
// which is protected as the pod uses it (finding 62).
func (s *store) circles(of metav1.Object) bool {
	for _, o := range s.objects {
		claim, is := o.(*corev1.PersistentVolumeClaim)
		if !is || claim.DeletionTimestamp == nil || !slices.Contains(claim.Finalizers, claimProtection) {
			continue
		}
		for _, owner := range claim.OwnerReferences {
			k := s.known[owner.UID]
			if k == nil || k.gone != 0 || !slices.Contains(k.pod.Finalizers, metav1.FinalizerDeleteDependents) {
				continue
			}
			switch of := of.(type) {
			case *corev1.Namespace:
				is = of.Name == claim.Namespace
			case *appsv1.StatefulSet:
				is = of.Namespace == claim.Namespace && strings.HasPrefix(k.pod.Name, of.Name+"-")
			default:
				is = of.GetUID() == claim.UID || of.GetUID() == k.pod.UID
			}
			if is {
				return true
			}
		}
	}
	return false
}

// missesNode reports whether an object is, or waits for, a pod or its claim, which waits until a node is selected for it: it was created when the pod had been
// placed, and only the scheduler selects nodes (finding 63).
func (s *store) missesNode(of metav1.Object) bool {
	for _, o := range s.objects {
		claim, is := o.(*corev1.PersistentVolumeClaim)
		if !is || claim.DeletionTimestamp != nil || claim.Spec.VolumeName != "" || ptr.Deref(claim.Spec.StorageClassName, "") != classLate || claim.Annotations[volume.AnnSelectedNode] != "" {
			continue
		}
		for uid, k := range s.known {
			uses := func(v corev1.Volume) bool { return claimOf(k.pod, &v) == claim.Name }
			if k.gone == 0 && k.bound != 0 && k.bound < s.born[claim.UID] && k.pod.Namespace == claim.Namespace && slices.ContainsFunc(k.pod.Spec.Volumes, uses) &&
				(slices.Contains([]types.UID{uid, claim.UID, ownerOf(k.pod)}, of.GetUID()) || s.isOfDeployment(k.pod, of)) {
				return true
			}
		}
	}
	return false
}

// isOfDeployment reports whether an object is the deployment of a pod.
func (s *store) isOfDeployment(pod *corev1.Pod, of metav1.Object) bool {
	for _, o := range s.objects {
		if o.GetUID() == ownerOf(pod) && ownerOf(o) == of.GetUID() {
			return true
		}
	}
	return false
}
