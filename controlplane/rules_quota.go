package controlplane

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchsim/watchsim/model"
)

// charges records since when pods are charged to each quota. Pods that existed before, or were requested before an API server
// knew of the quota, are not charged, but count once the quota controller has recounted.
type charges struct {
	// since is the time by which the quota had certainly been charged, 0 until then.
	since map[types.UID]int64
	// most is the highest limit that a quota has ever had.
	most map[types.UID]int64
	// lowered are the requests of quota controllers that have lowered the usage of each quota.
	lowered map[types.UID][]*model.Operation
}

// apply records a change. API servers are not recorded as clients: if no client has written a quota whose usage rises, an API server has charged it.
func (c *charges) apply(s *store, old, now object, rv int64) {
	by := s.wrote[rv]
	before, after := both[corev1.ResourceQuota](old, now)
	if after != nil {
		if hard, limited := after.Spec.Hard[corev1.ResourcePods]; limited {
			c.most[after.UID] = max(c.most[after.UID], hard.Value())
		}
	}
	if by != nil {
		for quota, since := range c.since {
			if since == 0 {
				c.since[quota] = by.Return
			}
		}
	}
	if before == nil || after == nil || before.UID != after.UID {
		return
	}
	used, was := after.Status.Used[corev1.ResourcePods], before.Status.Used[corev1.ResourcePods]
	if _, known := c.since[after.UID]; by == nil && !known && used.Cmp(was) > 0 {
		c.since[after.UID] = 0
	}
	if by != nil && used.Cmp(was) < 0 {
		c.lowered[after.UID] = append(c.lowered[after.UID], by)
	}
}

// missed reports whether a quota controller may have taken back the charge for a pod, as it counted when it had not observed the pod yet. API servers charge a pod before they
// create it, and the controller is told of the quota and of the pod in any order (kubernetes/kubernetes #123434).
func (s *store) missed(quota, pod types.UID) bool {
	return slices.ContainsFunc(s.charges.lowered[quota], func(by *model.Operation) bool {
		return s.created[pod].Call < by.Return && (s.pods == nil || !s.heard(by, s.born[pod], 0))
	})
}

func withinQuota(s *store, key string, old, now object, _ int64) string {
	_, quota := both[corev1.ResourceQuota](old, now)
	if quota == nil || s.charges.since[quota.UID] == 0 {
		return ""
	}
	space, _, _ := strings.Cut(nameOf(key), "/")
	living := int64(0)
	for at, o := range s.objects {
		pod, is := o.(*corev1.Pod)
		if !is || !strings.HasPrefix(at, podKeys+space+"/") || !lives(pod) {
			continue
		}
		if by := s.created[pod.UID]; by != nil && by.Call > s.charges.since[quota.UID] && !s.missed(quota.UID, pod.UID) {
			living++
		}
	}
	most, limited := s.charges.most[quota.UID]
	if !limited || living <= most {
		return ""
	}
	return fmt.Sprintf("%d pods live in namespace %s that were requested after its quota %s had been charged, which allows %d", living, space, nameOf(key), most)
}

// chargesAdd checks writes that no client has made: those of API servers, which charge a pod when it is created. Only the quota controller
// lowers the usage. Its request may have timed out and still been carried out, or the history may have it as a read, as it was sent at an instant at which
// another client read a later state.
func chargesAdd(s *store, key string, old, now object, rv int64) string {
	before, after := both[corev1.ResourceQuota](old, now)
	if before == nil || after == nil || before.UID != after.UID || s.wrote == nil || s.wrote[rv] != nil {
		return ""
	}
	used, was := after.Status.Used[corev1.ResourcePods], before.Status.Used[corev1.ResourcePods]
	if used.Cmp(was) >= 0 {
		return ""
	}
	history := s.seen.Histories["resourcequotas"]
	if history != nil && slices.ContainsFunc(history.Operations, func(op model.Operation) bool { return op.Touch && op.ResultRV == rv }) {
		return ""
	}
	for _, request := range s.seen.Requests["resourcequotas"] {
		if (request.Op.Lost() || request.Return == model.Pending) && request.Scope.Namespace+"/"+request.Scope.Name == nameOf(key) {
			return ""
		}
	}
	return fmt.Sprintf("%s pods had been charged to quota %s, and an API server has written %s", &was, nameOf(key), &used)
}
