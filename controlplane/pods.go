package controlplane

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// known is what there is to know of a pod that there has been.
type known struct {
	pod *corev1.Pod // as it was last
	// owners are the controllers that it has ever had: those that it was created for, and those that adopted it.
	owners map[types.UID]bool
	// going is the revision that marked or deleted it, 0 if none did.
	going int64
	// succeeded and failed mean that it has ever come to that end. The pod garbage collector makes the one of the other (finding 11).
	succeeded, failed bool
}

// applyPod notes what a change says of pods.
func applyPod(pods map[types.UID]*known, old, now object, rv int64) {
	before, after := both[corev1.Pod](old, now)
	if after != nil {
		if pods[after.UID] == nil {
			pods[after.UID] = &known{owners: map[types.UID]bool{}}
		}
		k := pods[after.UID]
		k.pod, k.owners[ownerOf(after)] = after, true
		k.succeeded = k.succeeded || after.Status.Phase == corev1.PodSucceeded
		k.failed = k.failed || after.Status.Phase == corev1.PodFailed
	}
	for _, pod := range []*corev1.Pod{before, after} {
		if pod != nil && pods[pod.UID].going == 0 && (pod.DeletionTimestamp != nil || pod == before && (after == nil || after.UID != pod.UID)) {
			pods[pod.UID].going = rv
		}
	}
}

// endedOf is how many pods of a controller have ever succeeded, and how many have failed or had to go.
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
