package controlplane

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/watchsim/watchsim/model"
)

// decision exceeds the time that a controller takes from reading its caches to sending a request, stalled goroutines included.
const decision = 10 * time.Second

// counted returns a budget with evictions before and after a disruption controller's write; nil if the pods that it had observed are unknown. The
// API server accepts the write only if the controller had read the status before it, with its evictions.
func (s *store) counted(old, now object, rv int64) (before, after *policyv1.PodDisruptionBudget, by *model.Operation) {
	before, after = both[policyv1.PodDisruptionBudget](old, now)
	if by = s.wrote[rv]; before == nil || after == nil || before.UID != after.UID || len(before.Status.DisruptedPods) == 0 ||
		by == nil || s.pods == nil || s.clocksJump() || !strings.HasPrefix(by.Client, managerName) {
		return nil, nil, nil
	}
	return before, after, by
}

// evictionIsKept checks the evictions that a disruption controller removes. It reports those of pods that the controller had observed a while
// ago, but not their deletion.
func evictionIsKept(s *store, key string, old, now object, rv int64) string {
	before, after, by := s.counted(old, now, rv)
	if by == nil {
		return ""
	}
	space, _, _ := strings.Cut(nameOf(key), "/")
	for _, uid := range slices.Sorted(maps.Keys(s.known)) {
		k := s.known[uid]
		_, evicted := before.Status.DisruptedPods[k.pod.Name]
		if _, kept := after.Status.DisruptedPods[k.pod.Name]; !evicted || kept || k.pod.Namespace != space || s.expired(before, k.pod.Name, by) {
			continue
		}
		if !s.wasTold(by, "pods", last{uid, s.born[uid]}) || k.going != 0 && s.heard(by, k.going, 0) {
			continue
		}
		return fmt.Sprintf("%s removes the eviction of pod %s from budget %s, and has not been told that the pod is deleted", by.Client, k.pod.Name, nameOf(key))
	}
	return ""
}

// evictedIsNotHealthy checks how many pods a disruption controller counts as healthy. Evicted pods are not. The others in its cache are at most
// those that it has observed, without those whose deletion it observed long ago.
func evictedIsNotHealthy(s *store, key string, old, now object, rv int64) string {
	before, after, by := s.counted(old, now, rv)
	if by == nil {
		return ""
	}
	selector, err := metav1.LabelSelectorAsSelector(after.Spec.Selector)
	if err != nil {
		return ""
	}
	space, _, _ := strings.Cut(nameOf(key), "/")
	most := int32(0)
	for uid, k := range s.known {
		_, evicted := before.Status.DisruptedPods[k.pod.Name]
		if evicted && !s.expired(before, k.pod.Name, by) || k.pod.Namespace != space || !selector.Matches(labels.Set(k.pod.Labels)) {
			continue
		}
		if s.heard(by, s.born[uid], 0) && (k.going == 0 || !s.heard(by, k.going, decision)) {
			most++
		}
	}
	if after.Status.CurrentHealthy <= most {
		return ""
	}
	return fmt.Sprintf("%s counts %d pods of budget %s as healthy; it has been told of %d at most, without those whose eviction it has read",
		by.Client, after.Status.CurrentHealthy, nameOf(key), most)
}

// heard reports whether the client of a request had observed a pod's change at a revision so long before.
func (s *store) heard(by *model.Operation, rv int64, before time.Duration) bool {
	at := s.pods.Told(by.Client, rv)
	return at != model.Pending && at <= by.Call-int64(before)
}

// expired reports whether an eviction is so old that its pod may count as healthy again (pkg/controller/disruption, DeletionTimeout).
func (s *store) expired(budget *policyv1.PodDisruptionBudget, pod string, by *model.Operation) bool {
	const timeout = 2 * time.Minute
	evicted := budget.Status.DisruptedPods[pod].UnixNano() - s.seen.Epoch
	return by.Return-evicted >= int64(timeout-time.Second)
}

// clocksJump reports whether some process had a wrong wall clock, so that timestamps in objects are unreliable.
func (s *store) clocksJump() bool {
	for _, history := range s.seen.Histories {
		if slices.ContainsFunc(history.Faults, func(fault model.Fault) bool { return fault.Name == "clock-jump" }) {
			return true
		}
	}
	return false
}
