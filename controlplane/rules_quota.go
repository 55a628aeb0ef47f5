package controlplane

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// charges tell since when pods are charged to a quota. Pods that were there before, or were asked for before an API server
// knew of the quota, are not, and count all the same once the quota controller has counted.
type charges struct {
	// since is when the answer to some request shows that the quota had been charged, 0 as long as none does.
	since map[types.UID]int64
	// most is what a quota has allowed at most.
	most map[types.UID]int64
}

// apply notes what a change says. API servers are no clients, so a quota whose use goes up and that no client has written was charged.
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
		return
	}
	if before == nil || after == nil || before.UID != after.UID {
		return
	}
	used, was := after.Status.Used[corev1.ResourcePods], before.Status.Used[corev1.ResourcePods]
	if _, known := c.since[after.UID]; !known && used.Cmp(was) > 0 {
		c.since[after.UID] = 0
	}
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
		if by := s.created[pod.UID]; by != nil && by.Call > s.charges.since[quota.UID] {
			living++
		}
	}
	most, limited := s.charges.most[quota.UID]
	if !limited || living <= most {
		return ""
	}
	return fmt.Sprintf("%d pods live in namespace %s that were asked for when its quota %s had been charged, which allows %d", living, space, nameOf(key), most)
}

// chargesAdd looks at what API servers write, which are no clients. Pods are charged once, when they are created. Only the quota controller
// counts less than before, and a request of it that got no answer may be what nobody seems to have written.
func chargesAdd(s *store, key string, old, now object, rv int64) string {
	before, after := both[corev1.ResourceQuota](old, now)
	if before == nil || after == nil || before.UID != after.UID || s.wrote == nil || s.wrote[rv] != nil {
		return ""
	}
	used, was := after.Status.Used[corev1.ResourcePods], before.Status.Used[corev1.ResourcePods]
	if used.Cmp(was) >= 0 {
		return ""
	}
	for _, request := range s.seen.Requests["resourcequotas"] {
		if request.Op.Lost() && request.Scope.Namespace+"/"+request.Scope.Name == nameOf(key) {
			return ""
		}
	}
	return fmt.Sprintf("%s pods had been charged to quota %s, and an API server has written %s", &was, nameOf(key), &used)
}
