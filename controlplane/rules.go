package controlplane

import (
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"

	"github.com/watchsim/watchsim/simtest"
)

// Rule is what must be true of every state that etcd has ever held.
type Rule struct {
	Name string
	// Promise is the rule as a sentence, and Source who promises it.
	Promise, Source string
	// broken says what a change breaks, nothing if it is empty. The store is as it was
	// before; old and now are what the key held and holds from the revision rv on, nil for nothing.
	broken func(s *store, key string, old, now object, rv int64) string
}

// Rules are those of all states.
var Rules = []Rule{
	{
		"BoundOnce", "A pod that is bound to a node stays bound to it.",
		"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle: pods are only scheduled once in their lifetime", boundOnce,
	},
	{
		"EndIsFinal", "A pod that has succeeded or failed does not run again.",
		"kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle: containers of such a pod have terminated and will not be restarted", endIsFinal,
	},
	{
		"Fits", "The requests of the pods bound to a node do not exceed what it can allocate.",
		"kubernetes.io/docs/concepts/configuration/manage-resources-containers: how pods with resource requests are scheduled", fits,
	},
	{
		"NoExtraReplica", "A replica set has no more living pods than it has ever asked for at a time.",
		"pkg/controller/replicaset/replica_set.go: expectations, and since 1.36 the consistency store, keep a stale cache from that", noExtraReplica,
	},
	{
		"WithinSurge", "No replica set is made to ask for more pods if those of its deployment then ask for more than it wants and allows beyond that.",
		"kubernetes.io/docs/concepts/workloads/controllers/deployment: maxSurge is the maximum number of pods that can be created over the desired number", withinSurge,
	},
	{
		"WithinUnavailable", "No replica set is made to ask for fewer pods if those of its deployment then ask for fewer than it wants, but for those that it allows to be unavailable.",
		"kubernetes.io/docs/concepts/workloads/controllers/deployment: maxUnavailable is the maximum number of pods that can be unavailable during the update process", withinUnavailable,
	},
	{
		"ReplacedOneByOne", "Daemon sets and stateful sets that have another template replace no pod before the last one that they have replaced is ready.",
		"kubernetes.io/docs: StatefulSet rolling updates wait until an updated pod is Running and Ready; maxUnavailable of a DaemonSet is 1 by default", replacedOneByOne,
	},
	{
		"NoExtraWork", "A job has no more living pods than it has ever asked for at a time, and no two for the same index.",
		"pkg/controller/job/job_controller.go: expectations, and since 1.36 the consistency store, keep a stale cache from that", noExtraWork,
	},
	{
		"OneByOne", "A stateful set creates no pod before those that come first have been ready, unless it may do so at once.",
		"kubernetes.io/docs/concepts/workloads/controllers/statefulset: before a scaling operation is applied to a pod, all of its predecessors must be Running and Ready", oneByOne,
	},
	{
		"OnePerNode", "A daemon set has at most one living pod on a node, unless it may surge.",
		"kubernetes.io/docs/concepts/workloads/controllers/daemonset: all (or some) nodes run a copy of a pod", onePerNode,
	},
	{
		"JobIsOver", "No pod is created for a job that has finished.",
		"kubernetes/kubernetes#130103, #130333: a finished job that creates pods was a bug", jobIsOver,
	},
	{
		"JobCounts", "A job counts up: it counts each of its pods at most once, forgets none that it has counted, and counts no more successes than it wants.",
		"KEP-2307: job tracking without lingering pods", jobCounts,
	},
	{
		"WithinQuota", "No more pods live than a quota allows, of those that were asked for once it had been charged.",
		"kubernetes.io/docs/concepts/policy/resource-quotas: a request that violates a quota fails", withinQuota,
	},
	{
		"ChargesAdd", "An API server that charges a pod to a quota takes nothing away from what had been charged.",
		"k8s.io/apiserver/pkg/admission/plugin/resourcequota: what is charged is added to what was read, and written under its resourceVersion", chargesAdd,
	},
	{
		"EvictedIsNotHealthy", "The disruption controller counts no pod as healthy whose eviction it has read.",
		"PodDisruptionBudgetStatus.disruptedPods: a pod is in this map until the controller has seen it marked for deletion, or for 2 minutes", evictedIsNotHealthy,
	},
	{
		"EvictionIsKept", "The disruption controller takes no eviction away whose pod it has not seen go.",
		"PodDisruptionBudgetStatus.disruptedPods: a pod is in this map until the controller has seen it marked for deletion, or for 2 minutes", evictionIsKept,
	},
	{
		"LeaseHeld", "Nobody takes the lease of a leader that has neither expired nor been given up.",
		"k8s.io/client-go/tools/leaderelection: a candidate waits LeaseDuration after it has last observed a change", leaseHeld,
	},
	{
		"LeaderActs", "A controller manager or a scheduler changes nothing once another one leads.",
		"k8s.io/client-go/tools/leaderelection: a leader stops after RenewDeadline without its lease, which is less than the LeaseDuration that others wait", leaderActs,
	},
	{
		"NodeIsSilent", "A node whose lease has just been renewed is not declared silent, however old what the controller knows of leases is.",
		"KEP-5647: the node lifecycle controller reads the lease from etcd before it declares a node unreachable", nodeIsSilent,
	},
	{
		"JobIsKept", "The control plane deletes no job that has not finished, or has no time to live.",
		"kubernetes.io/docs/concepts/workloads/controllers/ttlafterfinished: the TTL begins when a job is Complete or Failed, and a finished job whose TTL is unset is kept", jobIsKept,
	},
	{
		"SuspendedRests", "A job that has been suspended has no pods that run.",
		"kubernetes.io/docs/concepts/workloads/controllers/job: when you suspend a Job, any running Pods that don't have a status of Completed are terminated", suspendedRests,
	},
	{
		"OfItsKnowledge", "A controller manager deletes no pod that it has neither created nor been told of.",
		"kubernetes/kubernetes#25169, #25224: the deletion of another pod of that name was a bug of the kubelet", ofItsKnowledge,
	},
	{
		"DeletedOnce", "A controller does not delete a pod again that it has deleted and seen on its way out.",
		"kubernetes/kubernetes#78972, #78974: a daemon set that counts one deletion twice waits for another one", deletedOnce,
	},
	{
		"AdmittedFirst", "No object is created that a webhook has not seen whose failurePolicy is Fail.",
		"kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers: failure policy", admittedFirst,
	},
	{
		"OwnedIsKept", "The control plane collects nothing while an owner of it lives.",
		"kubernetes.io/docs/concepts/architecture/garbage-collection: the garbage collector deletes objects that no longer have owners", ownedIsKept,
	},
	{
		"OwnerIsLast", "What is deleted in the foreground does not go before what it owns, if that says so.",
		"kubernetes.io/docs/concepts/architecture/garbage-collection: the owner is deleted once all dependents with blockOwnerDeletion=true are", ownerIsLast,
	},
	{
		"FinalizersHold", "Nothing goes that has more than one finalizer.",
		"kubernetes.io/docs/concepts/overview/working-with-objects/finalizers: each controller removes its own key, and the object goes with the last one", finalizersHold,
	},
	{
		"EvictedByTaint", "No pod is evicted from a node that has no taint.",
		"kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration: if the taint is removed before tolerationSeconds, the pod is not evicted", evictedByTaint,
	},
}

// Check says which rules the states of a cluster have broken, one sentence each for the first
// time, and below it what whoever broke one had been told: all states that etcd has held, in the order of its revisions, with values as
// kube-apiserver stores them. Without histories, rules about who wrote something, and when, are silent.
// A controller whose create gets no answer creates another pod, and so does one that has become the leader and does not see what the last
// one has created: rules against too many pods count those that the creator knew of.
func Check(seen simtest.Seen) (broken []string, err error) {
	return newStore(seen).check()
}

// check goes through all states, of which a new store knows nothing.
func (s *store) check() (broken []string, err error) {
	said := map[string]bool{}
	for _, change := range s.seen.Committed.Changes {
		key := change.Object.Name
		if !isJudged(key) {
			continue
		}
		var now object
		if !change.Deleted {
			if now, err = decode(change); err != nil {
				return nil, fmt.Errorf("%s at revision %d: %w", key, change.RV, err)
			}
		}
		for _, rule := range Rules {
			if said[rule.Name] {
				continue
			}
			if text := rule.broken(s, key, s.objects[key], now, change.RV); text != "" {
				said[rule.Name] = true
				broken = append(broken, fmt.Sprintf("%s is broken at revision %d: %s. %s (%s)%s", rule.Name, change.RV, text, rule.Promise, rule.Source,
					s.toldOf(s.objects[key], now, change.RV)))
			}
		}
		s.apply(key, now, change.RV)
	}
	return broken, nil
}

// nameOf is the name of what a key of etcd holds, with its namespace.
func nameOf(key string) string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(key, "/registry/"), "/")
	return rest
}

// both are what a key of one type held and holds; now alone is nil for a deletion.
func both[T any](old, now object) (before, after *T) {
	before, _ = any(old).(*T)
	after, _ = any(now).(*T)
	return before, after
}

// isGoing reports whether a change deletes an object that is in use, or marks it for deletion.
func isGoing(old, now object) bool {
	return old != nil && old.GetDeletionTimestamp() == nil && (now == nil || now.GetDeletionTimestamp() != nil)
}

// going is that object, if it is of some type; nil for any other change.
func going[T any](old, now object) *T {
	if !isGoing(old, now) {
		return nil
	}
	before, _ := any(old).(*T)
	return before
}

func boundOnce(_ *store, key string, old, now object, _ int64) string {
	before, after := both[corev1.Pod](old, now)
	if before == nil || after == nil || before.UID != after.UID || before.Spec.NodeName == "" || before.Spec.NodeName == after.Spec.NodeName {
		return ""
	}
	return fmt.Sprintf("pod %s is moved from %s to %s", nameOf(key), before.Spec.NodeName, after.Spec.NodeName)
}

func endIsFinal(s *store, key string, old, now object, _ int64) string {
	before, after := both[corev1.Pod](old, now)
	if before == nil || after == nil || before.UID != after.UID || !isOver(before) || before.Status.Phase == after.Status.Phase {
		return ""
	}
	if after.Status.Phase == corev1.PodFailed && s.failedUnseen(key, after) &&
		s.isFinding(11, "pods", "the pod garbage collector has marked a pod as failed that had succeeded, of which it had not been told") {
		return ""
	}
	return fmt.Sprintf("pod %s goes from %s to %s", nameOf(key), before.Status.Phase, after.Status.Phase)
}

// fits looks at each binding, also of what daemon sets put on nodes. It counts what the scheduler knows of that binds:
// pods that the same life of it has bound and was told so, and those that were bound before that life listed pods. One whose
// binding gets no answer is forgotten by it, and the next leader may begin before it has seen what the last one did: then the
// kubelet rejects the pod (pkg/kubelet/lifecycle/predicate.go).
func fits(s *store, key string, old, now object, _ int64) string {
	before, after := both[corev1.Pod](old, now)
	if after == nil || after.Spec.NodeName == "" || before != nil && before.Spec.NodeName != "" || isOver(after) {
		return ""
	}
	node, _ := s.objects["/registry/minions/"+after.Spec.NodeName].(*corev1.Node)
	if node == nil {
		return ""
	}
	used := resource.PodRequests(after, resource.PodResourcesOptions{})
	pods := int64(1)
	for other, pod := range s.byNode[after.Spec.NodeName] {
		if other == key || isOver(pod) || !s.bindings.knew(after.UID, pod.UID) {
			continue
		}
		pods++
		for name, quantity := range resource.PodRequests(pod, resource.PodResourcesOptions{}) {
			sum := used[name]
			sum.Add(quantity)
			used[name] = sum
		}
	}
	for name, quantity := range used {
		if allocatable, is := node.Status.Allocatable[name]; is && quantity.Cmp(allocatable) > 0 {
			return fmt.Sprintf("pod %s is bound to %s, whose pods then request %s of %s, of which it has %s", nameOf(key), node.Name, quantity.String(), name, allocatable.String())
		}
	}
	if most := node.Status.Allocatable.Pods().Value(); pods > most {
		return fmt.Sprintf("pod %s is bound to %s, which then has %d pods of at most %d", nameOf(key), node.Name, pods, most)
	}
	return ""
}

// createdFor is the pod that a change creates for a controller of some kind; nil for any other change.
func (s *store) createdFor(kind string, old, now object) *corev1.Pod {
	pod, is := now.(*corev1.Pod)
	if !is || old != nil || ownerKind(pod) != kind {
		return nil
	}
	return pod
}

// onePerNode looks at creations, whose node is in the affinity that the controller sets. A pod that was created for another controller and
// was adopted has no such affinity: until it is bound, and the controller has been told so, it is on no node.
func onePerNode(s *store, key string, old, now object, rv int64) string {
	pod := s.createdFor("DaemonSet", old, now)
	if pod == nil {
		return ""
	}
	for _, other := range s.siblings(pod, rv) {
		if twin := s.byOwner[ownerOf(pod)][other]; s.owners[twin.UID] == ownerOf(pod) && wantedNode(twin) == wantedNode(pod) {
			return fmt.Sprintf("pod %s is created for %s, where pod %s of the same daemon set lives", nameOf(key), wantedNode(pod), nameOf(other))
		}
	}
	return ""
}

// wantedNode is the node that the pod of a daemon set is for.
func wantedNode(pod *corev1.Pod) string {
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil && affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, field := range term.MatchFields {
				if field.Key == "metadata.name" && len(field.Values) == 1 {
					return field.Values[0]
				}
			}
		}
	}
	return pod.Spec.NodeName
}

// ofItsKnowledge looks at deletions, and marks for deletion, that name a pod: what a controller knows by that name may be another pod. The
// garbage collector reads what it deletes, and names its UID.
func ofItsKnowledge(s *store, key string, old, now object, rv int64) string {
	before := going[corev1.Pod](old, now)
	by := s.deletedBy(rv)
	if before == nil || by == nil || s.pods == nil || !strings.HasPrefix(by.Client, managerName) {
		return ""
	}
	creator := s.created[before.UID]
	if s.heard(by, s.born[before.UID], 0) || creator != nil && creator.Client == by.Client || s.isBy(garbageCollector, by) {
		return ""
	}
	if s.isBy(podGarbageCollector, by) && s.isFinding(11, "pods", "the pod garbage collector has deleted a pod for another one of its name") {
		return ""
	}
	return fmt.Sprintf("%s deletes pod %s with UID %s, which it has not been told of", by.Client, nameOf(key), before.UID)
}

func admittedFirst(_ *store, key string, old, now object, _ int64) string {
	before, after := both[corev1.ConfigMap](old, now)
	if before != nil || after == nil || after.Labels[admission] != labelOf(admissionregistrationv1.Fail) || after.Annotations[admitted] != "" {
		return ""
	}
	return fmt.Sprintf("config map %s is created without the annotation of the webhook that it must pass", nameOf(key))
}
