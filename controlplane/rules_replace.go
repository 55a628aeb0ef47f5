package controlplane

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/watchsim/watchsim/model"
)

// least returns how many pods a deployment keeps available during a rollout.
func least(d *appsv1.Deployment) int32 {
	if d.Spec.Strategy.RollingUpdate == nil {
		return 0
	}
	unavailable := share(d.Spec.Replicas, d.Spec.Strategy.RollingUpdate.MaxUnavailable, false)
	if surge(d) == 0 && unavailable == 0 {
		unavailable = 1
	}
	return max(ptr.Deref(d.Spec.Replicas, 1)-unavailable, 0)
}

// statefulAllowance returns what a stateful set allows.
func statefulAllowance(set *appsv1.StatefulSet) allowance {
	a := allowance{start: ptr.Deref(set.Spec.Ordinals, appsv1.StatefulSetOrdinals{}).Start, together: 1}
	a.end = a.start + ptr.Deref(set.Spec.Replicas, 1)
	switch rolling := set.Spec.UpdateStrategy.RollingUpdate; {
	case set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType:
		a.first = math.MaxInt32
	case rolling != nil:
		a.first, a.together = a.start+ptr.Deref(rolling.Partition, 0), max(share(set.Spec.Replicas, rolling.MaxUnavailable, false), 1)
	}
	return a
}

// daemonAllowance returns what a daemon set allows. With a node selector, it may want no pod on any node. One that may surge
// deletes a pod only once the next one is available, and how many those are on all nodes is not known here, as it is for a percentage.
func daemonAllowance(d *appsv1.DaemonSet) allowance {
	a := allowance{most: 1, least: int32(1 - min(len(d.Spec.Template.Spec.NodeSelector), 1)), end: 1, together: 1}
	if d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType {
		a.first = math.MaxInt32
	}
	if rolling := d.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
		switch unavailable := intstr.ValueOrDefault(rolling.MaxUnavailable, intstr.FromInt32(1)); {
		case unavailable.Type == intstr.String || surges(d):
			a.together = math.MaxInt32
		default:
			a.together = unavailable.IntVal
		}
		if surges(d) {
			a.most = 2
		}
	}
	return a
}

// surges reports whether a daemon set may have two pods on a node during a rollout.
func surges(d *appsv1.DaemonSet) bool {
	rolling := d.Spec.UpdateStrategy.RollingUpdate
	return rolling != nil && ptr.Deref(rolling.MaxSurge, intstr.FromInt32(0)) != intstr.FromInt32(0)
}

// withinUnavailable checks replica sets that the deployment controller scales down against the total replicas of their deployment after that.
// It is silent where the controller may have acted on stale replica sets, which is finding 30, too.
func withinUnavailable(s *store, key string, old, now object, rv int64) string {
	before, after := both[appsv1.ReplicaSet](old, now)
	by := s.wrote[rv]
	if before == nil || after == nil || by == nil || !strings.HasPrefix(by.Client, managerName) || !s.isBy(deploymentController, by) || ownerOf(before) == "" {
		return ""
	}
	asks := ptr.Deref(after.Spec.Replicas, 1)
	minimum := s.allowed(by, "deployments.apps", ownerOf(before)).least
	if asks >= ptr.Deref(before.Spec.Replicas, 1) || s.waited(by) || !s.wasTold(by, setsName, s.rollouts.lost[ownerOf(before)]) {
		return ""
	}
	all := asks
	for _, other := range s.objects {
		if set, is := other.(*appsv1.ReplicaSet); is && set.UID != before.UID && ownerOf(set) == ownerOf(before) {
			if !s.wasTold(by, setsName, last{set.UID, s.rollouts.scaled[set.UID]}) {
				return ""
			}
			all += ptr.Deref(set.Spec.Replicas, 1)
		}
	}
	if all >= minimum {
		return ""
	}
	return fmt.Sprintf("%s scales replica set %s to %d, and those of its deployment then ask for %d pods, but must keep %d", by.Client, nameOf(key), asks, all, minimum)
}

// emptyHistory checks replica sets that the deployment controller deletes, as old ones that its deployment no longer keeps.
func emptyHistory(s *store, key string, old, now object, rv int64) string {
	before, by := deleting[appsv1.ReplicaSet](old, now), s.deletedBy(rv)
	if before == nil || by == nil || !strings.HasPrefix(by.Client, managerName) || !s.isBy(deploymentController, by) {
		return ""
	}
	asks := ptr.Deref(before.Spec.Replicas, 1)
	if asks == 0 || !s.wasTold(by, setsName, last{before.UID, s.rollouts.scaled[before.UID]}) {
		return ""
	}
	return fmt.Sprintf("%s deletes replica set %s, which asks for %d pods", by.Client, nameOf(key), asks)
}

// last identifies a change of an object.
type last struct {
	uid types.UID
	rv  int64
}

// wasTold reports whether the client of a request had observed an earlier change early enough to act on it; true if there is no change.
func (s *store) wasTold(by *model.Operation, resource string, of last) bool {
	if of.rv == 0 {
		return true
	}
	at := s.informed(resource, by.Client, of.uid, of.rv)
	return at != model.Pending && at <= by.Call-int64(decision)
}

// replacing are the controllers that replace pods one after the other during a rollout, by the kinds of their workloads.
var replacing = map[string]string{"StatefulSet": statefulSetController, "DaemonSet": daemonSetController}

// daemonSetController is the daemon set controller's name in its User-Agent.
const daemonSetController = "daemon-set-controller"

// replacedOneByOne checks ready pods that the controllers of daemon sets and stateful sets delete. With those that the same life of the controller
// has deleted and that are still terminating, and those that it has created and that have never been ready, there may be no more than maxUnavailable.
// It is silent about pods that are deleted for another reason, as far as the
// controller may have known it: those of stateful sets that scale down, and of daemon sets with a node selector.
func replacedOneByOne(s *store, key string, old, now object, rv int64) string {
	before, by := s.replaced(old, now, rv)
	if before == nil {
		return ""
	}
	kind, others := ownerKind(before), s.byOwner[ownerOf(before)]
	var waits []string
	for _, at := range slices.Sorted(maps.Keys(others)) {
		other, goes := others[at], s.deletedBy(s.known[others[at].UID].going)
		if other.UID == before.UID || kind == "StatefulSet" && (!s.replaces(by, other) || !earlier(key[strings.LastIndex(key, "-"):], at[strings.LastIndex(at, "-"):])) {
			continue
		}
		switch {
		case goes != nil && goes.Client == by.Client && s.isBy(replacing[kind], goes):
			waits = append(waits, nameOf(at)+" is being deleted as well")
		case goes == nil && s.rollouts.ready[other.UID] == 0 && s.created[other.UID] != nil && s.created[other.UID].Client == by.Client:
			waits = append(waits, nameOf(at)+" has never been ready")
		}
	}
	if most := s.allowedOf(by, before).together; len(waits) < int(most) {
		return ""
	}
	return fmt.Sprintf("%s deletes pod %s, which is ready, while of the same %s pod %s", by.Client, nameOf(key), kind, strings.Join(waits, ", and pod "))
}

// replacedByUsers checks the same pods: a controller replaces none if their users do, or below the partition.
func replacedByUsers(s *store, key string, old, now object, rv int64) string {
	before, by := s.replaced(old, now, rv)
	if before == nil {
		return ""
	}
	switch first := s.allowedOf(by, before).first; {
	case first == math.MaxInt32:
		return fmt.Sprintf("%s deletes pod %s of a %s whose strategy is OnDelete", by.Client, nameOf(key), ownerKind(before))
	case ordinal(before) < first:
		return fmt.Sprintf("%s deletes pod %s of a stateful set that replaces pods from ordinal %d on", by.Client, nameOf(key), first)
	}
	return ""
}

// replaced returns the ready pod that the controller of a daemon set or stateful set deletes, for which a rollout can be
// the only reason, and the request; nil for any other change.
func (s *store) replaced(old, now object, rv int64) (*corev1.Pod, *model.Operation) {
	before := deleting[corev1.Pod](old, now)
	by := s.deletedBy(rv)
	if before == nil || isOver(before) || !isReady(&before.Status) || by == nil {
		return nil, nil
	}
	controller := replacing[ownerKind(before)]
	if controller == "" || !s.isBy(controller, by) || !s.replaces(by, before) || !s.wasTold(by, "pods", last{before.UID, s.rollouts.ready[before.UID]}) {
		return nil, nil
	}
	return before, by
}

// allowedOf is allowed for the workload of a pod.
func (s *store) allowedOf(by *model.Operation, pod *corev1.Pod) allowance {
	return s.allowed(by, ownerResources[ownerKind(pod)], ownerOf(pod))
}

// ordinal returns the ordinal of a stateful set's pod, 0 for other pods.
func ordinal(pod *corev1.Pod) int32 {
	if ownerKind(pod) != "StatefulSet" {
		return 0
	}
	n, _ := strconv.ParseInt(pod.Name[strings.LastIndex(pod.Name, "-")+1:], 10, 32)
	return int32(n)
}

// replaces reports whether a rollout can be the only reason for which a controller deletes a pod.
func (s *store) replaces(by *model.Operation, pod *corev1.Pod) bool {
	allows := s.allowedOf(by, pod)
	if ownerKind(pod) == "StatefulSet" {
		return allows.start <= ordinal(pod) && ordinal(pod) < allows.end
	}
	if node := s.node(pod.Spec.NodeName); node != nil && s.mayEvict(by, node) {
		return false
	}
	for uid, other := range s.known { // the controller deletes one of two pods on a node
		if uid != pod.UID && other.owners[ownerOf(pod)] && other.pod.Spec.NodeName == pod.Spec.NodeName &&
			(other.going == 0 || !s.wasTold(by, "pods", last{uid, other.going})) {
			return false
		}
	}
	return allows.least > 0
}
