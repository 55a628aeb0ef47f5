package controlplane

import (
	"fmt"
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
