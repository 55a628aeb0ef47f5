package controlplane

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// known is what is known of a pod that has existed.
type known struct {
	pod *corev1.Pod // in its last state
	// owners are all controllers that it has ever had: the one that created it, and those that adopted it.
	owners map[types.UID]bool
	// bound is the revision that put it on a node, 0 for none.
	bound int64
	// going is the revision that set its deletionTimestamp or deleted it, gone the one that deleted it; 0 if none did.
	going, gone int64
	// succeeded and failed mean that it has ever had that phase. The pod garbage collector may turn the first into the second (finding 11).
	succeeded, failed bool
}

// applyPod records a change of a pod.
func applyPod(pods map[types.UID]*known, old, now object, rv int64) {
	before, after := both[corev1.Pod](old, now)
	if after != nil {
		if pods[after.UID] == nil {
			pods[after.UID] = &known{owners: map[types.UID]bool{}}
		}
		k := pods[after.UID]
		k.pod, k.owners[ownerOf(after)] = after, true
		if k.bound == 0 && after.Spec.NodeName != "" {
			k.bound = rv
		}
		k.succeeded = k.succeeded || after.Status.Phase == corev1.PodSucceeded
		k.failed = k.failed || after.Status.Phase == corev1.PodFailed
	}
	if before != nil && (after == nil || after.UID != before.UID) {
		pods[before.UID].gone = rv
	}
	for _, pod := range []*corev1.Pod{before, after} {
		if pod != nil && pods[pod.UID].going == 0 && (pod.DeletionTimestamp != nil || pods[pod.UID].gone != 0) {
			pods[pod.UID].going = rv
		}
	}
}

// relabelled is a change of a pod's labels.
type relabelled struct {
	before, after *corev1.Pod
	rv            int64
}

// applyLabels records a change of a pod's labels.
func (s *store) applyLabels(old, now object, rv int64) {
	before, after := both[corev1.Pod](old, now)
	if before != nil && after != nil && !maps.Equal(before.Labels, after.Labels) {
		s.relabelled = append(s.relabelled, relabelled{before, after, rv})
	}
}

// lostPod reports whether the labels of a pod that a budget selected have changed since the budget's last change, so that it no longer
// selects the pod (finding 33).
func (s *store) lostPod(budget *policyv1.PodDisruptionBudget) bool {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return false
	}
	selects := func(pod *corev1.Pod) bool {
		return pod.Namespace == budget.Namespace && selector.Matches(labels.Set(pod.Labels))
	}
	last := s.changed[budgetKeys+describe(budget)]
	return slices.ContainsFunc(s.relabelled, func(change relabelled) bool {
		return change.rv > last && selects(change.before) && !selects(change.after)
	})
}

// endedOf returns how many pods of a controller have succeeded, and how many have failed or were deleted.
func (s *store) endedOf(owner types.UID) (succeeded, failed int32) {
	for uid, k := range s.known {
		if s.owners[uid] != owner {
			continue
		}
		if k.succeeded {
			succeeded++
		}
		if k.failed || k.going != 0 {
			failed++
		}
	}
	return succeeded, failed
}
