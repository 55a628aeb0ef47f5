package controlplane

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
)

// Rule is an invariant of every state that etcd has held.
type Rule struct {
	Name string
	// Promise is the rule as a sentence, and Source where Kubernetes promises it.
	Promise, Source string
	// broken describes how a change breaks the rule, and returns "" if it does not. The store is in the state
	// before the change; old and now are the key's object before and from revision rv on, nil for none.
	broken func(s *store, key string, old, now object, rv int64) string
}

// Rules are all rules for the states of etcd.
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
		"pkg/controller/replicaset/replica_set.go: expectations, and since 1.36 the consistency store, guard against stale caches", noExtraReplica,
	},
	{
		"WithinSurge", "No replica set is scaled up beyond the replicas of its deployment plus maxSurge.",
		"kubernetes.io/docs/concepts/workloads/controllers/deployment: maxSurge is the maximum number of pods that can be created over the desired number", withinSurge,
	},
	{
		"WithinUnavailable", "No replica set is scaled down below the replicas of its deployment minus maxUnavailable.",
		"kubernetes.io/docs/concepts/workloads/controllers/deployment: maxUnavailable is the maximum number of pods that can be unavailable during the update process", withinUnavailable,
	},
	{
		"EmptyHistory", "A deployment deletes none of its old replica sets that asks for pods, even if they exceed its revisionHistoryLimit.",
		"pkg/controller/deployment/sync.go: cleanupDeployment skips replica sets with replicas; a paused deployment has old ones", emptyHistory,
	},
	{
		"ReplacedOneByOne", "During a rollout, daemon sets and stateful sets replace no more pods at a time than maxUnavailable, which is 1 by default.",
		"kubernetes.io/docs: StatefulSet rolling updates wait until an updated pod is Running and Ready; maxUnavailable of a DaemonSet is 1 by default", replacedOneByOne,
	},
	{
		"ReplacedByUsers", "A controller replaces no pod of a daemon set or stateful set whose updateStrategy is OnDelete, and none of a stateful set below its partition.",
		"kubernetes.io/docs/concepts/workloads/controllers/statefulset: update strategies, and partitioned rolling updates", replacedByUsers,
	},
	{
		"BelowPartition", "A stateful set creates a pod below its partition from the revision of the last pod of that name.",
		"kubernetes.io/docs/concepts/workloads/controllers/statefulset: pods with an ordinal below the partition are recreated at the previous version, even if they are deleted", belowPartition,
	},
	{
		"NoExtraWork", "A job has no more living pods than it has ever asked for at a time, and no two for the same index.",
		"pkg/controller/job/job_controller.go: expectations, and since 1.36 the consistency store, guard against stale caches", noExtraWork,
	},
	{
		"OneByOne", "A stateful set creates no pod before its predecessors have been ready, unless its podManagementPolicy is Parallel.",
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
		"JobCounts", "A job counts each of its pods at most once, its counts never decrease, and it counts no more successes than its completions.",
		"KEP-2307: job tracking without lingering pods", jobCounts,
	},
	{
		"WithinQuota", "Of the pods that were requested after a quota was first charged, no more live than it allows.",
		"kubernetes.io/docs/concepts/policy/resource-quotas: a request that violates a quota fails", withinQuota,
	},
	{
		"ChargesAdd", "An API server that charges a pod to a quota does not lower the usage.",
		"k8s.io/apiserver/pkg/admission/plugin/resourcequota: what is charged is added to what was read, and written under its resourceVersion", chargesAdd,
	},
	{
		"EvictedIsNotHealthy", "The disruption controller counts no pod as healthy whose eviction it has read.",
		"PodDisruptionBudgetStatus.disruptedPods: a pod is in this map until the controller has seen it marked for deletion, or for 2 minutes", evictedIsNotHealthy,
	},
	{
		"EvictionIsKept", "The disruption controller removes no eviction before it has observed that the pod is deleted.",
		"PodDisruptionBudgetStatus.disruptedPods: a pod is in this map until the controller has seen it marked for deletion, or for 2 minutes", evictionIsKept,
	},
	{
		"UniqueAddress", "No two services have the same cluster IP, or the same port on nodes.",
		"kubernetes.io/docs/concepts/services-networking/cluster-ip-allocation: across your whole cluster, every Service ClusterIP must be unique", uniqueAddress,
	},
	{
		"LeaseHeld", "Nobody acquires a leader's lease before it has expired or the leader has released it.",
		"k8s.io/client-go/tools/leaderelection: a candidate waits LeaseDuration after it has last observed a change", leaseHeld,
	},
	{
		"LeaderActs", "A controller manager or a scheduler changes nothing once another one leads.",
		"k8s.io/client-go/tools/leaderelection: a leader stops after RenewDeadline without its lease, which is less than the LeaseDuration that others wait", leaderActs,
	},
	{
		"NodeIsSilent", "A node whose lease has just been renewed is not declared unreachable, however stale the controller's cache of leases is.",
		"KEP-5647: the node lifecycle controller reads the lease from etcd before it declares a node unreachable", nodeIsSilent,
	},
	{
		"JobIsKept", "The control plane deletes only finished jobs whose TTL has ended or that have a cron job, and unfinished ones that their cron job replaces.",
		"kubernetes.io/docs/concepts/workloads/controllers/ttlafterfinished: the TTL begins when a job is Complete or Failed, and a finished job whose TTL is unset is kept", jobIsKept,
	},
	{
		"ForbidsTwo", "A cron job whose concurrencyPolicy is Forbid begins no job while its controller observes an unfinished one.",
		"kubernetes.io/docs/concepts/workloads/controllers/cron-jobs: if the previous job has not finished yet, the cron job skips the new job run", forbidsTwo,
	},
	{
		"SuspendedRests", "A suspended job has no running pods.",
		"kubernetes.io/docs/concepts/workloads/controllers/job: when you suspend a Job, any running Pods that don't have a status of Completed are terminated", suspendedRests,
	},
	{
		"OfItsKnowledge", "A controller manager deletes no pod that it has neither created nor observed.",
		"kubernetes/kubernetes#25169, #25224: the deletion of another pod of that name was a bug of the kubelet", ofItsKnowledge,
	},
	{
		"DeletedOnce", "A controller does not delete a pod again once it has deleted it and observed its deletionTimestamp.",
		"kubernetes/kubernetes#78972, #78974: a daemon set that counts one deletion twice waits for another one", deletedOnce,
	},
	{
		"AdmittedFirst", "No object is stored that has bypassed a webhook whose failurePolicy is Fail.",
		"kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers: failure policy", admittedFirst,
	},
	{
		"OwnedIsKept", "The garbage collector deletes no object while one of its owners exists.",
		"kubernetes.io/docs/concepts/architecture/garbage-collection: the garbage collector deletes objects that no longer have owners", ownedIsKept,
	},
	{
		"OwnerIsLast", "An object that is deleted in the foreground is not removed before its dependents with blockOwnerDeletion.",
		"kubernetes.io/docs/concepts/architecture/garbage-collection: the owner is deleted once all dependents with blockOwnerDeletion=true are", ownerIsLast,
	},
	{
		"FinalizersHold", "No object is removed that has a finalizer and is not being deleted, or that has more than one.",
		"kubernetes.io/docs/concepts/overview/working-with-objects/finalizers: each controller removes its own key, and the object goes with the last one", finalizersHold,
	},
	{
		"ClaimIsKept", "A claim is not removed while it is used by a pod that was bound to a node before the claim was deleted.",
		"kubernetes.io/docs/concepts/storage/persistent-volumes: the removal of a PVC is postponed until it is no longer actively used by any pods", claimIsKept,
	},
	{
		"VolumeIsKept", "A volume is not removed while a claim is bound to it.",
		"kubernetes.io/docs/concepts/storage/persistent-volumes: the removal of a PV is postponed until it is no longer bound to a PVC", volumeIsKept,
	},
	{
		"DataIsKept", "The control plane and provisioners delete a volume only when its claim is gone and its reclaim policy is Delete.",
		"kubernetes.io/docs/concepts/storage/persistent-volumes: with Retain, the volume exists after its claim, for manual reclamation", dataIsKept,
	},
	{
		"LostIsGone", "No claim is declared Lost while the volume that is bound to it exists.",
		"PersistentVolumeClaimPhase in k8s.io/api/core/v1: ClaimLost says that the volume does not exist any longer and all data on it was lost", lostIsGone,
	},
	{
		"UsedOnce", "The scheduler places no pod with a ReadWriteOncePod claim while another pod that it knows of uses the claim.",
		"kubernetes.io/docs/concepts/storage/persistent-volumes: with ReadWriteOncePod, only one pod across the whole cluster can read or write the volume", usedOnce,
	},
	{
		"Apart", "The scheduler places no pod on a node with a pod, which it knows of, that wants the same port of the host, or that excludes it by anti-affinity.",
		"kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node: required inter-pod anti-affinity; kubernetes.io/docs/concepts/configuration/overview: hostPort", placedApart,
	},
	{
		"OneToOne", "A volume that is bound to a claim is never bound to another one.",
		"kubernetes.io/docs/concepts/storage/persistent-volumes: the binding is a one-to-one mapping, using a ClaimRef", oneToOne,
	},
	{
		"EvictedByTaint", "No pod is evicted from a node that has no NoExecute taint, or sooner than its tolerationSeconds.",
		"kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration: if the taint is removed before tolerationSeconds, the pod is not evicted", evictedByTaint,
	},
}

// Check returns the rules that a cluster has broken: one sentence for the first violation of each, followed by what the
// program that broke it had been told. It checks every state that etcd has held, in the order of revisions, with values as
// kube-apiserver stores them. Without histories, rules about who wrote something, and when, are silent.
// A controller whose create request times out creates another pod, and so does a new leader that has not observed what the last
// one created. Rules against extra pods therefore count only pods that the creator knew of.
func Check(seen simtest.Seen) (broken []string, err error) {
	return newStore(seen).check()
}

// check applies the rules to all states. The store must be new.
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

// nameOf returns the namespace and name in an etcd key.
func nameOf(key string) string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(key, "/registry/"), "/")
	return rest
}

// both returns an object of one type before and after a change; only the second is nil for a deletion.
func both[T any](old, now object) (before, after *T) {
	before, _ = any(old).(*T)
	after, _ = any(now).(*T)
	return before, after
}

// beginsDeletion reports whether a change sets an object's deletionTimestamp, or deletes an object without one.
func beginsDeletion(old, now object) bool {
	return old != nil && old.GetDeletionTimestamp() == nil && (now == nil || now.GetDeletionTimestamp() != nil)
}

// deleting returns the object of type T whose deletion a change begins; nil for any other change.
func deleting[T any](old, now object) *T {
	if !beginsDeletion(old, now) {
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
		s.isFinding(11, "pods", "the pod garbage collector has marked a pod as failed before it had observed that the pod had succeeded") {
		return ""
	}
	return fmt.Sprintf("pod %s changes from %s to %s", nameOf(key), before.Status.Phase, after.Status.Phase)
}

// fits checks each binding, of daemon set pods too. It counts the pods that the scheduler knew of:
// those that the same life has bound, with a confirmed binding, and those that were bound before that life listed pods. A scheduler
// forgets a pod whose bind request times out, and the next leader may start before it has observed the last bindings: then the
// kubelet rejects the pod (pkg/kubelet/lifecycle/predicate.go).
func fits(s *store, key string, old, now object, _ int64) string {
	before, after := both[corev1.Pod](old, now)
	if after == nil || after.Spec.NodeName == "" || before != nil && before.Spec.NodeName != "" || isOver(after) {
		return ""
	}
	node := s.node(after.Spec.NodeName)
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
			return fmt.Sprintf("pod %s is bound to %s, whose pods then request %s of %s, of which %s is allocatable", nameOf(key), node.Name, quantity.String(), name, allocatable.String())
		}
	}
	if most := node.Status.Allocatable.Pods().Value(); pods > most {
		return fmt.Sprintf("pod %s is bound to %s, which then has %d pods of at most %d", nameOf(key), node.Name, pods, most)
	}
	return ""
}

// createdFor returns the pod that a change creates for a controller of some kind; nil for any other change.
func (s *store) createdFor(kind string, old, now object) *corev1.Pod {
	pod, is := now.(*corev1.Pod)
	if !is || old != nil || ownerKind(pod) != kind {
		return nil
	}
	return pod
}

// onePerNode checks created pods. The controller puts their node into the affinity. An adopted pod, which was created for another
// controller, has no such affinity: it is on no node until it is bound and the controller has observed that.
func onePerNode(s *store, key string, old, now object, rv int64) string {
	pod := s.createdFor("DaemonSet", old, now)
	if pod == nil {
		return ""
	}
	var on []string
	for _, other := range s.siblings(pod, rv) {
		if twin := s.byOwner[ownerOf(pod)][other]; s.owners[twin.UID] == ownerOf(pod) && wantedNode(twin) == wantedNode(pod) {
			on = append(on, nameOf(other))
		}
	}
	most := int32(1)
	for _, a := range s.rollouts.allows[ownerOf(pod)] {
		most = max(most, a.most)
	}
	if len(on) < int(most) {
		return ""
	}
	return fmt.Sprintf("pod %s is created for %s, where the same daemon set has pod %s", nameOf(key), wantedNode(pod), strings.Join(on, " and pod "))
}

// wantedNode returns the node that a daemon set's pod is meant for.
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

// ofItsKnowledge checks deletions of pods by name: the controller may know another pod of that name. The garbage collector is exempt:
// it reads a pod before it deletes it, and sends the UID as a precondition.
func ofItsKnowledge(s *store, key string, old, now object, rv int64) string {
	before := deleting[corev1.Pod](old, now)
	by := s.deletedBy(rv)
	if before == nil || by == nil || s.pods == nil || !strings.HasPrefix(by.Client, managerName) {
		return ""
	}
	creator := s.created[before.UID]
	if s.heard(by, s.born[before.UID], 0) || creator != nil && creator.Client == by.Client || s.isBy(garbageCollector, by) {
		return ""
	}
	if s.isBy(podGarbageCollector, by) && s.isFinding(11, "pods", "the pod garbage collector has deleted a pod that was recreated under the same name") {
		return ""
	}
	if s.meantNamesake(before, by) && s.isFinding(68, "pods", "a controller of a workload has deleted a pod that was recreated under the name of the one it had decided about") {
		return ""
	}
	return fmt.Sprintf("%s deletes pod %s with UID %s, which it has not been told of", by.Client, nameOf(key), before.UID)
}

// meantNamesake reports whether a controller of workloads, which deletes pods by name, had been told of an earlier pod of that name (finding 68).
func (s *store) meantNamesake(pod *corev1.Pod, by *model.Operation) bool {
	if !slices.ContainsFunc(workloadControllers, func(controller string) bool { return s.isBy(controller, by) }) {
		return false
	}
	for uid, other := range s.known {
		if other.pod.Namespace == pod.Namespace && other.pod.Name == pod.Name && s.heard(by, s.born[uid], 0) {
			return true
		}
	}
	return false
}

func admittedFirst(_ *store, key string, old, now object, _ int64) string {
	before, after := both[corev1.ConfigMap](old, now)
	if before != nil || after == nil || after.Labels[admission] != labelOf(admissionregistrationv1.Fail) || after.Annotations[admitted] != "" {
		return ""
	}
	return fmt.Sprintf("config map %s is created without the annotation of its mandatory webhook", nameOf(key))
}
