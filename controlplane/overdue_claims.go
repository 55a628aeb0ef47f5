package controlplane

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
