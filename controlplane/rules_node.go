package controlplane

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// nodeLeases is the prefix of node leases in etcd.
const nodeLeases = "/registry/leases/kube-node-lease/"

// How long a node may go without renewing its lease (nodeMonitorGracePeriod of kube-controller-manager), and the longest time from a
// decision to its request, in simulated time: client-go retries up to ten times when it is told to wait.
const (
	maxSilence = 50 * time.Second
	maxRetries = 30 * time.Second
)

// nodeIsSilent checks changes of a node's Ready condition to Unknown. Before that, the node lifecycle controller reads the lease from etcd,
// if the one in its cache is old.
func nodeIsSilent(s *store, key string, old, now object, rv int64) string {
	before, after := both[corev1.Node](old, now)
	by := s.wrote[rv]
	if before == nil || after == nil || before.UID != after.UID || ready(after) != corev1.ConditionUnknown || ready(before) == corev1.ConditionUnknown ||
		by == nil || s.clocksJump() || !strings.HasPrefix(by.Client, managerName) {
		return ""
	}
	for _, renewed := range s.renewals[after.Name] {
		if silent := time.Duration(by.Call - renewed); silent > maxRetries && silent < maxSilence {
			return fmt.Sprintf("%s declares %s unreachable, although its lease was renewed %v before", by.Client, nameOf(key), silent.Round(time.Millisecond))
		}
	}
	return ""
}

// evictedByTaint checks pods that are evicted for a taint of their node. It is silent where the node controller may not have observed that the taint is gone.
func evictedByTaint(s *store, key string, old, now object, rv int64) string {
	before := deleting[corev1.Pod](old, now)
	by := s.deletedBy(rv)
	if before == nil || by == nil || !s.isBy(nodeController, by) {
		return ""
	}
	node, _ := s.objects["/registry/minions/"+before.Spec.NodeName].(*corev1.Node)
	if node == nil || evicts(node) || !s.wasTold(by, "nodes", last{node.UID, s.untainted[node.UID]}) {
		return ""
	}
	return fmt.Sprintf("%s evicts pod %s from %s, which has no NoExecute taint", by.Client, nameOf(key), node.Name)
}

// nodeController is the name of the controllers for nodes in their User-Agent.
const nodeController = "node-controller"

// evicts reports whether a node has a NoExecute taint.
func evicts(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute })
}

// applyTaints records since when a node has no NoExecute taint.
func (s *store) applyTaints(old, now object, rv int64) {
	before, after := both[corev1.Node](old, now)
	if after != nil && !evicts(after) && (before == nil || before.UID != after.UID || evicts(before)) {
		s.untainted[after.UID] = rv
	}
}

// ready returns the status of a node's Ready condition.
func ready(node *corev1.Node) corev1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return ""
}

// applyRenewal records when a node received the answer that its lease is renewed.
func (s *store) applyRenewal(key string, rv int64) {
	if node, is := strings.CutPrefix(key, nodeLeases); is && s.wrote[rv] != nil {
		s.renewals[node] = append(s.renewals[node], s.wrote[rv].Return)
	}
}
