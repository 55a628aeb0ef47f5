package controlplane

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// passedOver reports whether a daemon set has no pod on a node where one of its predecessor, of the same name, was removed later than the daemon set was created.
func (s *store) passedOver(set metav1.Object) bool {
	if _, is := set.(*appsv1.DaemonSet); !is {
		return false
	}
	predecessors, left, has := s.namesakes(set), map[string]bool{}, map[string]bool{}
	for _, k := range s.known {
		if k.gone > s.born[set.GetUID()] && slices.ContainsFunc(predecessors, func(uid types.UID) bool { return k.owners[uid] }) {
			left[k.pod.Spec.NodeName] = true
		}
		if k.gone == 0 && k.owners[set.GetUID()] {
			has[k.pod.Spec.NodeName] = true
		}
	}
	for node := range left {
		if node != "" && !has[node] {
			return true
		}
	}
	return false
}

// staysBeside reports whether a daemon set with maxSurge and minReadySeconds has two ready pods on a node, of different revisions.
func (s *store) staysBeside(set metav1.Object) bool {
	d, is := set.(*appsv1.DaemonSet)
	if !is || d.Spec.MinReadySeconds == 0 || d.Spec.UpdateStrategy.RollingUpdate == nil {
		return false
	}
	if surge, err := intstr.GetScaledValueFromIntOrPercent(d.Spec.UpdateStrategy.RollingUpdate.MaxSurge, 100, true); err != nil || surge == 0 {
		return false
	}
	revisions := map[string]string{} // of a ready pod of each node
	for _, k := range s.known {
		if !k.owners[d.UID] || k.going != 0 || !isReady(&k.pod.Status) {
			continue
		}
		revision := k.pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
		if other, has := revisions[k.pod.Spec.NodeName]; has && other != revision {
			return true
		}
		revisions[k.pod.Spec.NodeName] = revision
	}
	return false
}
