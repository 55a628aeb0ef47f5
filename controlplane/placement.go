package controlplane

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// restrain makes the pods of some templates exclude each other from a node, by a port of the host or by their labels, or wait at a gate.
func (u *person) restrain(template *corev1.PodTemplateSpec, manifest *rand.Rand) {
	if !slices.Contains(u.usage.Groups, Placement) {
		return
	}
	switch manifest.IntN(8) {
	case 0:
		template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
	case 1:
		template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: template.Labels}, TopologyKey: corev1.LabelHostname,
		}}}}
	case 2:
		template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: schedulingGate}}
	}
}

// apart reports whether two pods must not be placed on one node: both want the same port of the host, or one keeps away from pods with labels of the other.
func apart(a, b *corev1.Pod) bool {
	ports := map[corev1.ContainerPort]bool{}
	for _, port := range hostPorts(a) {
		ports[port] = true
	}
	return slices.ContainsFunc(hostPorts(b), func(p corev1.ContainerPort) bool { return ports[p] }) || keepsAway(a, b) || keepsAway(b, a)
}

// hostPorts returns the ports of the host that a pod wants, each as nothing but its number and protocol.
func hostPorts(pod *corev1.Pod) (ports []corev1.ContainerPort) {
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if port.HostPort != 0 {
				ports = append(ports, corev1.ContainerPort{HostPort: port.HostPort, Protocol: port.Protocol})
			}
		}
	}
	return ports
}

// keepsAway reports whether a pod is not placed on the node of another one because of its required anti-affinity.
func keepsAway(pod, other *corev1.Pod) bool {
	if pod.Namespace != other.Namespace || pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return false
	}
	return slices.ContainsFunc(pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, func(term corev1.PodAffinityTerm) bool {
		selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
		return err == nil && term.TopologyKey == corev1.LabelHostname && selector.Matches(labels.Set(other.Labels))
	})
}

// placedApart checks bindings. It counts other pods that the scheduler knew of, as fits does, and whose labels have always been the same.
func placedApart(s *store, key string, old, now object, _ int64) string {
	before, after := both[corev1.Pod](old, now)
	if after == nil || after.Spec.NodeName == "" || before != nil && before.Spec.NodeName != "" || isOver(after) || s.node(after.Spec.NodeName) == nil {
		return ""
	}
	there := s.byNode[after.Spec.NodeName]
	for _, other := range slices.Sorted(maps.Keys(there)) {
		pod := there[other]
		if other != key && !isOver(pod) && apart(after, pod) && s.bindings.knew(after.UID, pod.UID) &&
			!slices.ContainsFunc(s.relabelled, func(r relabelled) bool { return r.after.UID == pod.UID || r.after.UID == after.UID }) {
			return fmt.Sprintf("pod %s is bound to %s, where pod %s is that excludes it", nameOf(key), after.Spec.NodeName, nameOf(other))
		}
	}
	return ""
}
