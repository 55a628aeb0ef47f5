package controlplane

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"
)

// short reports whether workloads of a namespace may lack pods, as no node has room for one of them or
// the quota is used up.
func (s *state) short(namespace string) bool {
	for i := range s.pods {
		if pod := &s.pods[i]; pod.Namespace == namespace && pod.Spec.NodeName == "" && lives(pod) && !s.hasRoom(pod) {
			return true
		}
	}
	for _, quota := range s.quotas {
		if hard, limited := quota.Spec.Hard[corev1.ResourcePods]; limited && quota.Namespace == namespace && quota.Status.Used.Pods().Cmp(hard) >= 0 {
			return true
		}
	}
	return false
}

// hasRoom reports whether a pod is bound, or fits on some node if pods of lower priority are preempted. It does not if a user has orphaned the claim of an
// earlier pod of its name.
func (s *state) hasRoom(pod *corev1.Pod) bool {
	if pod.Spec.NodeName != "" {
		return true
	}
	if s.hasOrphan(pod) {
		return false
	}
	wanted := wantedNode(pod)
	for _, node := range s.nodes {
		if s.off[node.Name] || wanted != "" && node.Name != wanted || !labels.SelectorFromSet(pod.Spec.NodeSelector).Matches(labels.Set(node.Labels)) {
			continue
		}
		cpu, pods, excluded := request(pod), int64(1), false
		for i := range s.pods {
			other := &s.pods[i]
			if other.Spec.NodeName == node.Name && !isOver(other) && ptr.Deref(other.Spec.Priority, 0) >= ptr.Deref(pod.Spec.Priority, 0) {
				cpu += request(other)
				pods++
				excluded = excluded || apart(pod, other)
			}
		}
		if !excluded && cpu <= node.Status.Allocatable.Cpu().MilliValue() && pods <= node.Status.Allocatable.Pods().Value() {
			return true
		}
	}
	return false
}

// request returns the CPU that a pod requests, in millicores.
func request(pod *corev1.Pod) int64 {
	requests := resource.PodRequests(pod, resource.PodResourcesOptions{})
	return requests.Cpu().MilliValue()
}
