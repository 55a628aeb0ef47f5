package controlplane

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/watchsim/watchsim/model"
)

// least returns how many pods a deployment keeps available during a rollout.
func least(d *appsv1.Deployment) int32 {
	if d.Spec.Strategy.RollingUpdate == nil {
		return 0
	}
	unavailable := share(d, d.Spec.Strategy.RollingUpdate.MaxUnavailable, false)
	if surge(d) == 0 && unavailable == 0 {
		unavailable = 1
	}
	return max(ptr.Deref(d.Spec.Replicas, 1)-unavailable, 0)
}

// withinUnavailable checks replica sets that the deployment controller scales down or deletes against the total replicas of their deployment after that.
// It is silent where the controller may have acted on stale replica sets, which is finding 30, too.
func withinUnavailable(s *store, key string, old, now object, rv int64) string {
	before, after := both[appsv1.ReplicaSet](old, now)
	by := s.wrote[rv]
	if before == nil || by == nil || !strings.HasPrefix(by.Client, managerName) || !s.isBy(deploymentController, by) || ownerOf(before) == "" {
		return ""
	}
	asks := int32(0)
	if after != nil {
		asks = ptr.Deref(after.Spec.Replicas, 1)
	}
	_, minimum := s.allowed(by, "deployments.apps", ownerOf(before))
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

// replacedOneByOne checks ready pods that the controllers of daemon sets and stateful sets delete. By then, no other pod may be terminating that the same
// life of the controller has deleted, and those that it has created must have been ready. It is silent about pods that are deleted for another reason, as far as the
// controller may have known it: those of stateful sets that scale down, and of daemon sets with a node selector.
func replacedOneByOne(s *store, key string, old, now object, rv int64) string {
	before := deleting[corev1.Pod](old, now)
	by := s.deletedBy(rv)
	if before == nil || isOver(before) || !isReady(&before.Status) || by == nil {
		return ""
	}
	kind := ownerKind(before)
	if controller := replacing[kind]; controller == "" || !s.isBy(controller, by) || !s.replaces(by, before) || !s.wasTold(by, "pods", last{before.UID, s.rollouts.ready[before.UID]}) {
		return ""
	}
	others := s.byOwner[ownerOf(before)]
	for _, at := range slices.Sorted(maps.Keys(others)) {
		other, goes := others[at], s.deletedBy(s.known[others[at].UID].going)
		if other.UID == before.UID || kind == "StatefulSet" && (!s.replaces(by, other) || !earlier(key[strings.LastIndex(key, "-"):], at[strings.LastIndex(at, "-"):])) {
			continue
		}
		waits := ""
		switch {
		case goes != nil && goes.Client == by.Client && s.isBy(replacing[kind], goes):
			waits = "is being deleted as well"
		case goes == nil && s.rollouts.ready[other.UID] == 0 && s.created[other.UID] != nil && s.created[other.UID].Client == by.Client:
			waits = "has never been ready"
		default:
			continue
		}
		return fmt.Sprintf("%s deletes pod %s, which is ready, while pod %s of the same %s %s", by.Client, nameOf(key), nameOf(at), kind, waits)
	}
	return ""
}

// replaces reports whether a rollout can be the only reason for which a controller deletes a pod.
func (s *store) replaces(by *model.Operation, pod *corev1.Pod) bool {
	switch ownerKind(pod) {
	case "StatefulSet":
		ordinal, err := strconv.Atoi(pod.Name[strings.LastIndex(pod.Name, "-")+1:])
		_, least := s.allowed(by, "statefulsets.apps", ownerOf(pod))
		return err == nil && ordinal < int(least)
	default:
		for _, other := range s.byOwner[ownerOf(pod)] {
			if other.UID != pod.UID && other.Spec.NodeName == pod.Spec.NodeName {
				return false
			}
		}
		_, least := s.allowed(by, "daemonsets.apps", ownerOf(pod))
		return least > 0
	}
}
