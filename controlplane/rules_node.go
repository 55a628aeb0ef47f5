package controlplane

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/watchsim/watchsim/model"
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

// evictedByTaint checks pods that are evicted for a taint of their node: the node must have one, and the pod must have been there for as long as it tolerates that.
// A controller that has not observed that a taint was removed for a moment counts from before.
func evictedByTaint(s *store, key string, old, now object, rv int64) string {
	before := deleting[corev1.Pod](old, now)
	by := s.deletedBy(rv)
	if before == nil || by == nil || !s.isBy(nodeController, by) {
		return ""
	}
	node := s.node(before.Spec.NodeName)
	if node == nil {
		return ""
	}
	created, shunned := s.created[before.UID], s.shunned[node.UID]
	stays, stayed := tolerates(before, shunned.by), time.Duration(0)
	if created != nil {
		stayed = time.Duration(by.Call - max(created.Call, shunned.since))
	}
	because := ""
	switch {
	case !s.mayEvict(by, node):
		because = "which has no NoExecute taint"
	case created != nil && evicts(node) && !s.clocksJump() && stayed < stays:
		because = fmt.Sprintf("after %v, and it tolerates the taints there for %v", stayed.Round(time.Millisecond), stays)
	}
	if because == "" || s.hadNamesake(before) && s.isFinding(57, "pods", "a pod was evicted at the time of an earlier pod of its name") {
		return ""
	}
	return fmt.Sprintf("%s evicts pod %s from %s, %s", by.Client, nameOf(key), node.Name, because)
}

// hadNamesake reports whether an earlier pod had the name of a pod, on a node that has had NoExecute taints, as far as that is known.
func (s *store) hadNamesake(pod *corev1.Pod) bool {
	for uid, other := range s.known {
		if uid != pod.UID && other.pod.Namespace == pod.Namespace && other.pod.Name == pod.Name && other.pod.Spec.NodeName != "" {
			if node := s.node(other.pod.Spec.NodeName); node == nil || len(s.shunned[node.UID].by) > 0 {
				return true
			}
		}
	}
	return false
}

// tolerates returns for how long a pod tolerates NoExecute taints.
func tolerates(pod *corev1.Pod, taints []corev1.Taint) time.Duration {
	stays := time.Duration(math.MaxInt64)
	for _, taint := range taints {
		i := slices.IndexFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return t.ToleratesTaint(klog.Background(), &taint, false) })
		if i < 0 {
			return 0
		}
		if seconds := pod.Spec.Tolerations[i].TolerationSeconds; seconds != nil {
			stays = min(stays, time.Duration(*seconds)*time.Second)
		}
	}
	return stays
}

// node returns the node of a name; nil if there is none.
func (s *store) node(name string) *corev1.Node {
	node, _ := s.objects["/registry/minions/"+name].(*corev1.Node)
	return node
}

// mayEvict reports whether a node has a NoExecute taint, or had one until so late that the client of a request may not have observed its end.
func (s *store) mayEvict(by *model.Operation, node *corev1.Node) bool {
	return evicts(node) || !s.wasTold(by, "nodes", last{node.UID, s.untainted[node.UID]})
}

// nodeController is the name of the controllers for nodes in their User-Agent.
const nodeController = "node-controller"

// shunned are the NoExecute taints that a node has had since a time, and until when it had any.
type shunned struct {
	by           []corev1.Taint
	since, until int64
}

// evicts reports whether a node has a NoExecute taint.
func evicts(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute })
}

// applyTaints records since when a node has no NoExecute taint, and since when it has had them, not counting gaps that a controller may miss.
func (s *store) applyTaints(old, now object, rv int64) {
	before, after := both[corev1.Node](old, now)
	if after == nil {
		return
	}
	had := before != nil && before.UID == after.UID && evicts(before)
	var at int64
	if by := s.wrote[rv]; by != nil {
		at = by.Call
	}
	period := s.shunned[after.UID]
	switch {
	case evicts(after):
		if !had && at-period.until > int64(maxRetries) {
			period = shunned{since: at}
		}
		for _, taint := range after.Spec.Taints {
			if taint.Effect == corev1.TaintEffectNoExecute {
				period.by = append(period.by, taint)
			}
		}
	case had || before == nil || before.UID != after.UID:
		s.untainted[after.UID] = rv
		period.until = at
	}
	s.shunned[after.UID] = period
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
