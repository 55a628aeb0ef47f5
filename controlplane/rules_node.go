package controlplane

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// nodeLeases is where those of nodes are.
const nodeLeases = "/registry/leases/kube-node-lease/"

// How long a node may be silent until it counts as dead (nodeMonitorGracePeriod of kube-controller-manager), and the most that a request
// lags behind the decision that it carries out, in simulated time: client-go sends it up to ten more times if it is told to wait.
const (
	maxSilence = 50 * time.Second
	maxRetries = 30 * time.Second
)

// nodeIsSilent looks at what declares that a node has fallen silent. Its controller reads the lease from etcd before that, if the lease
// that it knows of is old.
func nodeIsSilent(s *store, key string, old, now object, rv int64) string {
	before, after := both[corev1.Node](old, now)
	by := s.wrote[rv]
	if before == nil || after == nil || before.UID != after.UID || ready(after) != corev1.ConditionUnknown || ready(before) == corev1.ConditionUnknown ||
		by == nil || s.clocksJump() || !strings.HasPrefix(by.Client, managerName) {
		return ""
	}
	for _, renewed := range s.renewals[after.Name] {
		if silent := time.Duration(by.Call - renewed); silent > maxRetries && silent < maxSilence {
			return fmt.Sprintf("%s declares that nobody hears from %s, whose lease was renewed %v before", by.Client, nameOf(key), silent.Round(time.Millisecond))
		}
	}
	return ""
}

// evictedByTaint looks at pods that are evicted for a taint of their node. It is silent where the evictor may not have heard that the node has none.
func evictedByTaint(s *store, key string, old, now object, rv int64) string {
	before := going[corev1.Pod](old, now)
	by := s.deletedBy(rv)
	if before == nil || by == nil || !s.isBy(nodeController, by) {
		return ""
	}
	node, _ := s.objects["/registry/minions/"+before.Spec.NodeName].(*corev1.Node)
	if node == nil || evicts(node) || !s.wasTold(by, "nodes", last{node.UID, s.untainted[node.UID]}) {
		return ""
	}
	return fmt.Sprintf("%s evicts pod %s from %s, which has no taint that evicts", by.Client, nameOf(key), node.Name)
}

// nodeController is how the controllers that look after nodes name themselves to API servers.
const nodeController = "node-controller"

// evicts reports whether a node has a taint for which pods are evicted.
func evicts(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute })
}

// applyTaints notes since when a node has no taint for which pods are evicted.
func (s *store) applyTaints(old, now object, rv int64) {
	before, after := both[corev1.Node](old, now)
	if after != nil && !evicts(after) && (before == nil || before.UID != after.UID || evicts(before)) {
		s.untainted[after.UID] = rv
	}
}

// ready is the status of the condition by which controllers know that a node is well.
func ready(node *corev1.Node) corev1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return ""
}

// applyRenewal notes when a node was answered that its lease is renewed.
func (s *store) applyRenewal(key string, rv int64) {
	if node, is := strings.CutPrefix(key, nodeLeases); is && s.wrote[rv] != nil {
		s.renewals[node] = append(s.renewals[node], s.wrote[rv].Return)
	}
}
