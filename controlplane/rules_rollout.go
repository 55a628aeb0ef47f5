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

// rollouts is what rules about several pods at once need to know of what asks for them, by UIDs.
type rollouts struct {
	// allows are how many pods a deployment, a stateful set or, on a node, a daemon set has allowed at once, one after the other, and asked the most that a replica set or a job has ever asked for at a time.
	allows map[types.UID][]allowance
	asked  map[types.UID]int32
	// scaled is the revision that last changed how many pods a replica set asks for.
	scaled map[types.UID]int64
	// lost is the replica set of a deployment that was deleted last.
	lost map[types.UID]last
	// ready is the revision at which a pod was first ready, 0 if it never was.
	ready map[types.UID]int64
}

// allowance is how many pods a workload allows from a revision on, at most and at least.
type allowance struct {
	rv          int64
	most, least int32
}

func newRollouts() rollouts {
	return rollouts{allows: map[types.UID][]allowance{}, asked: map[types.UID]int32{}, scaled: map[types.UID]int64{}, lost: map[types.UID]last{}, ready: map[types.UID]int64{}}
}

// apply notes what a change says of them.
func (r rollouts) apply(old, now object, rv int64) {
	switch now := now.(type) {
	case *appsv1.Deployment:
		r.allow(now.UID, rv, ptr.Deref(now.Spec.Replicas, 1)+surge(now), least(now))
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
		r.allow(now.UID, rv, ptr.Deref(now.Spec.Replicas, 1), ptr.Deref(now.Spec.Replicas, 1))
	case *appsv1.DaemonSet: // one that chooses among nodes may want none on any
		r.allow(now.UID, rv, 1, int32(1-min(len(now.Spec.Template.Spec.NodeSelector), 1)))
	}
	if set, is := old.(*appsv1.ReplicaSet); is && (now == nil || now.GetUID() != set.UID) {
		r.lost[ownerOf(set)] = last{set.UID, rv}
	}
}

// allow notes how many pods a workload allows from a revision on.
func (r rollouts) allow(workload types.UID, rv int64, most, least int32) {
	all := r.allows[workload]
	if len(all) == 0 || all[len(all)-1].most != most || all[len(all)-1].least != least {
		r.allows[workload] = append(all, allowance{rv, most, least})
	}
}

// surge is how many pods more than it wants a deployment allows while it goes from one template to another.
func surge(d *appsv1.Deployment) int32 {
	if d.Spec.Strategy.RollingUpdate == nil {
		return 0
	}
	return share(d, d.Spec.Strategy.RollingUpdate.MaxSurge, true)
}

// share is what a number of pods, or a percentage of those that a deployment wants, comes to, rounded up or down. API servers have validated it.
func share(d *appsv1.Deployment, of *intstr.IntOrString, up bool) int32 {
	pods, _ := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(of, intstr.FromInt32(0)), int(ptr.Deref(d.Spec.Replicas, 1)), up)
	return int32(pods)
}

// withinSurge looks at what controller managers have the replica sets of a deployment ask for. It counts those that the same life of the manager
// has written, and those that were there before it began. If its informer had not told it for a while of all that it would take for too many, it is
// finding 30: nothing keeps a deployment controller from going by older replica sets than it has written.
func withinSurge(s *store, key string, old, now object, rv int64) string {
	before, after := both[appsv1.ReplicaSet](old, now)
	by := s.wrote[rv]
	if after == nil || by == nil || !strings.HasPrefix(by.Client, managerName) {
		return ""
	}
	asks := ptr.Deref(after.Spec.Replicas, 1)
	most, _ := s.allowed(by, "deployments.apps", ownerOf(after))
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
		s.isFinding(30, setsName, "a deployment controller has not been told of a replica set that it has written, and has another one make more pods than the deployment allows") {
		return ""
	}
	return fmt.Sprintf("%s has replica set %s ask for %d pods, and those of its deployment then ask for %d, which allows %d", by.Client, nameOf(key), asks, all, most)
}

// allowed is how many pods a workload of a resource allows at most and at least, as a controller manager may have known it when it made a request; 0 for none.
func (s *store) allowed(by *model.Operation, resource string, workload types.UID) (most, least int32) {
	least = math.MaxInt32
	for _, a := range slices.Backward(s.rollouts.allows[workload]) {
		most, least = max(most, a.most), min(least, a.least)
		if s.wasTold(by, resource, last{workload, a.rv}) {
			return most, least
		}
	}
	return most, 0
}

// waited reports whether the deployment controller that made a request was waiting for an answer at a time so long before that it should know what
// it had been told by then. What it has looked at may be older: requests take long while there are faults.
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

// deploymentController is how that controller names itself to API servers.
const deploymentController = "deployment-controller"

// setsName is the resource of replica sets.
const setsName = "replicasets.apps"

// siblings are the keys of the living pods of the same controller as one that is created, of those that its creator knew of.
func (s *store) siblings(pod *corev1.Pod, rv int64) (keys []string) {
	for _, key := range slices.Sorted(maps.Keys(s.byOwner[ownerOf(pod)])) {
		if twin := s.byOwner[ownerOf(pod)][key]; lives(twin) && s.knew(rv, "pods", s.created[twin.UID]) {
			keys = append(keys, key)
		}
	}
	return keys
}

// noExtraReplica looks at each pod that is created for a replica set.
func noExtraReplica(s *store, key string, old, now object, rv int64) string {
	return s.moreThanAsked("ReplicaSet", "a replica set", key, old, now, rv)
}

// moreThanAsked says that a pod is created for a controller of some kind which has never asked for so many at a time.
func (s *store) moreThanAsked(kind, whom, key string, old, now object, rv int64) string {
	pod := s.createdFor(kind, old, now)
	if pod == nil {
		return ""
	}
	most, known := s.rollouts.asked[ownerOf(pod)]
	if living := 1 + len(s.siblings(pod, rv)); known && living > int(most) {
		return fmt.Sprintf("pod %s is created as the living pod number %d of %s that has asked for %d at a time at most", nameOf(key), living, whom, most)
	}
	return ""
}

// oneByOne looks at each pod that is created for a stateful set that creates them in order. A predecessor that was ready once and is not now
// may be so in what the controller knows.
func oneByOne(s *store, key string, old, now object, rv int64) string {
	pod := s.createdFor("StatefulSet", old, now)
	if pod == nil {
		return ""
	}
	ordinal := strings.LastIndex(key, "-")
	set, _ := s.objects["/registry/statefulsets/"+nameOf(key[:ordinal])].(*appsv1.StatefulSet)
	if set == nil || set.UID != ownerOf(pod) || set.Spec.PodManagementPolicy != appsv1.OrderedReadyPodManagement {
		return ""
	}
	pods := s.byOwner[set.UID]
	for _, other := range slices.Sorted(maps.Keys(pods)) {
		before := pods[other]
		if strings.HasPrefix(other, key[:ordinal]) && earlier(other[ordinal:], key[ordinal:]) && s.rollouts.ready[before.UID] == 0 && s.knew(rv, "pods", s.created[before.UID]) {
			return fmt.Sprintf("pod %s is created before pod %s has ever been ready", nameOf(key), nameOf(other))
		}
	}
	return ""
}

// earlier reports whether a number comes before another one, both written without leading zeros.
func earlier(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }
