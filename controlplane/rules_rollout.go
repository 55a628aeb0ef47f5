package controlplane

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/watchsim/watchsim/model"
)

// rollouts records, by UID, what rules about several pods need to know of their workloads.
type rollouts struct {
	// allows are what a deployment, a stateful set or a daemon set allows, in the order of revisions. asked is the most pods that a replica set or a job has ever asked for at a time.
	allows map[types.UID][]allowance
	asked  map[types.UID]int32
	// scaled is the revision that last changed the replicas of a replica set.
	scaled map[types.UID]int64
	// lost is the last deletion of a replica set of a deployment.
	lost map[types.UID]last
	// ready is the revision at which a pod was first ready, 0 if it never was.
	ready map[types.UID]int64
}

// allowance is what a workload allows from a revision on.
type allowance struct {
	rv          int64
	most, least int32 // pods, of a daemon set on each node
	// A stateful set wants pods with ordinals from start to before end. Its rollouts replace those from first on, and at most together of
	// them at a time. The pods of a daemon set have ordinal 0.
	start, end, first, together int32
}

// or returns the allowance of a client that may know either of two.
func (a allowance) or(b allowance) allowance {
	return allowance{
		most: max(a.most, b.most), least: min(a.least, b.least), start: max(a.start, b.start), end: min(a.end, b.end), first: min(a.first, b.first), together: max(a.together, b.together),
	}
}

func newRollouts() rollouts {
	return rollouts{allows: map[types.UID][]allowance{}, asked: map[types.UID]int32{}, scaled: map[types.UID]int64{}, lost: map[types.UID]last{}, ready: map[types.UID]int64{}}
}

// apply records a change.
func (r rollouts) apply(old, now object, rv int64) {
	switch now := now.(type) {
	case *appsv1.Deployment:
		r.allow(now.UID, rv, allowance{most: ptr.Deref(now.Spec.Replicas, 1) + surge(now), least: least(now)})
	case *batchv1.Job:
		r.asked[now.UID] = max(r.asked[now.UID], ptr.Deref(now.Spec.Parallelism, 1))
	case *appsv1.ReplicaSet:
		r.asked[now.UID] = max(r.asked[now.UID], ptr.Deref(now.Spec.Replicas, 1))
		if before, _ := old.(*appsv1.ReplicaSet); before == nil || before.UID != now.UID || ptr.Deref(before.Spec.Replicas, 1) != ptr.Deref(now.Spec.Replicas, 1) {
			r.scaled[now.UID] = rv
		}
	case *corev1.Pod:
		if r.ready[now.UID] == 0 && isReady(&now.Status) {
			r.ready[now.UID] = rv
		}
	case *appsv1.StatefulSet:
		r.allow(now.UID, rv, statefulAllowance(now))
	case *appsv1.DaemonSet:
		r.allow(now.UID, rv, daemonAllowance(now))
	}
	if set, is := old.(*appsv1.ReplicaSet); is && (now == nil || now.GetUID() != set.UID) {
		r.lost[ownerOf(set)] = last{set.UID, rv}
	}
}

// allow records what a workload allows from a revision on.
func (r rollouts) allow(workload types.UID, rv int64, a allowance) {
	all := r.allows[workload]
	if len(all) > 0 {
		a.rv = all[len(all)-1].rv
	}
	if len(all) == 0 || all[len(all)-1] != a {
		a.rv = rv
		r.allows[workload] = append(all, a)
	}
}

// surge returns maxSurge of a deployment as a number of pods.
func surge(d *appsv1.Deployment) int32 {
	if d.Spec.Strategy.RollingUpdate == nil {
		return 0
	}
	return share(d.Spec.Replicas, d.Spec.Strategy.RollingUpdate.MaxSurge, true)
}

// share converts a number of pods, or a percentage of the replicas of a workload, to pods, rounded up or down. API servers have validated it.
func share(replicas *int32, of *intstr.IntOrString, up bool) int32 {
	pods, _ := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(of, intstr.FromInt32(0)), int(ptr.Deref(replicas, 1)), up)
	return int32(pods)
}

// withinSurge checks replica sets that controller managers scale up. It counts the replicas that the same life of the manager
// has written, and those from before it began. If the manager had not observed enough of them to know that these are too many, it is
// finding 30: the deployment controller may act on a cache that is older than its own writes.
func withinSurge(s *store, key string, old, now object, rv int64) string {
	before, after := both[appsv1.ReplicaSet](old, now)
	by := s.wrote[rv]
	if after == nil || by == nil || !strings.HasPrefix(by.Client, managerName) {
		return ""
	}
	asks := ptr.Deref(after.Spec.Replicas, 1)
	most := s.allowed(by, "deployments.apps", ownerOf(after)).most
	if most == 0 || before != nil && ptr.Deref(before.Spec.Replicas, 1) >= asks {
		return ""
	}
	all, told := asks, asks
	for _, other := range s.objects {
		set, is := other.(*appsv1.ReplicaSet)
		if !is || set.UID == after.UID || ownerOf(set) != ownerOf(after) || !s.knew(rv, setsName, s.wrote[s.rollouts.scaled[set.UID]]) {
			continue
		}
		all += ptr.Deref(set.Spec.Replicas, 1)
		if s.wasTold(by, setsName, last{set.UID, s.rollouts.scaled[set.UID]}) {
			told += ptr.Deref(set.Spec.Replicas, 1)
		}
	}
	if all <= most || s.waited(by) || told <= most &&
		s.isFinding(30, setsName, "a deployment controller has not observed its own write of a replica set, and scales another one up beyond maxSurge") {
		return ""
	}
	return fmt.Sprintf("%s scales replica set %s to %d, and those of its deployment then ask for %d pods, of which %d are allowed", by.Client, nameOf(key), asks, all, most)
}

// allowed returns what a workload allowed that a controller manager may have known when it made a request; nothing for none.
func (s *store) allowed(by *model.Operation, resource string, workload types.UID) allowance {
	all := allowance{least: math.MaxInt32, end: math.MaxInt32, first: math.MaxInt32}
	for _, a := range slices.Backward(s.rollouts.allows[workload]) {
		all = all.or(a)
		if s.wasTold(by, resource, last{workload, a.rv}) {
			return all
		}
	}
	all.least, all.end, all.first = 0, 0, 0
	return all
}

// waited reports whether the deployment controller was still waiting for another answer ten seconds before it made a request. If so,
// its decision may be based on older state: requests take long while there are faults.
func (s *store) waited(by *model.Operation) bool {
	then := by.Call - int64(decision)
	for _, resource := range []string{"deployments.apps", setsName} {
		for _, request := range s.seen.Requests[resource] {
			if request.Client == by.Client && request.Call < then && (request.Return == model.Pending || request.Return > then) && isOf(request, deploymentController) {
				return true
			}
		}
	}
	return false
}

// deploymentController is the deployment controller's name in its User-Agent.
const deploymentController = "deployment-controller"

// setsName is the resource of replica sets.
const setsName = "replicasets.apps"

// siblings returns the keys of the living pods that the creator of a pod knew of and that have the same controller; none if that is
// gone: a controller forgets what it expects of an owner at its deletion (deleteDaemonset in daemon_controller.go), and its pods go with it.
func (s *store) siblings(pod *corev1.Pod, rv int64) (keys []string) {
	owner := ownerOf(pod)
	if s.born[owner] != 0 && !slices.ContainsFunc(slices.Collect(maps.Values(s.objects)), func(o object) bool { return o.GetUID() == owner }) {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(s.byOwner[owner])) {
		if twin := s.byOwner[owner][key]; lives(twin) && s.knew(rv, "pods", s.created[twin.UID]) {
			keys = append(keys, key)
		}
	}
	return keys
}

// noExtraReplica checks each pod that is created for a replica set.
func noExtraReplica(s *store, key string, old, now object, rv int64) string {
	return s.moreThanAsked("ReplicaSet", "a replica set", key, old, now, rv)
}

// moreThanAsked reports a pod that is created for a controller of some kind which has never asked for so many at a time.
func (s *store) moreThanAsked(kind, whom, key string, old, now object, rv int64) string {
	pod := s.createdFor(kind, old, now)
	if pod == nil {
		return ""
	}
	most, known := s.rollouts.asked[ownerOf(pod)]
	if living := 1 + len(s.siblings(pod, rv)); known && living > int(most) {
		return fmt.Sprintf("pod %s is created as living pod number %d of %s that has never asked for more than %d", nameOf(key), living, whom, most)
	}
	return ""
}

// oneByOne checks each pod that is created for a stateful set with OrderedReady pod management. A predecessor that was ready once and is not
// any more may still be ready in the controller's cache.
func oneByOne(s *store, key string, old, now object, rv int64) string {
	pod := s.createdFor("StatefulSet", old, now)
	if pod == nil {
		return ""
	}
	dash := strings.LastIndex(key, "-")
	set, _ := s.objects["/registry/statefulsets/"+nameOf(key[:dash])].(*appsv1.StatefulSet)
	if set == nil || set.UID != ownerOf(pod) || set.Spec.PodManagementPolicy != appsv1.OrderedReadyPodManagement {
		return ""
	}
	start := statefulAllowance(set).start
	if by := s.wrote[rv]; by != nil {
		start = max(start, s.allowedOf(by, pod).start)
	}
	pods := s.byOwner[set.UID]
	for _, other := range slices.Sorted(maps.Keys(pods)) {
		before := pods[other]
		if ordinal(before) >= start && strings.HasPrefix(other, key[:dash]) && earlier(other[dash:], key[dash:]) && s.rollouts.ready[before.UID] == 0 && s.knew(rv, "pods", s.created[before.UID]) {
			return fmt.Sprintf("pod %s is created before pod %s has ever been ready", nameOf(key), nameOf(other))
		}
	}
	return ""
}

// earlier reports whether a number comes before another one, both written without leading zeros.
func earlier(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }
