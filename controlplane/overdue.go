package controlplane

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
)

// SetOverdue keeps an error of [Late], for [Plane.Broken] to judge after the run, when it is known what controllers had observed.
func (p *Plane) SetOverdue(late error) { p.overdue = late }

// Overdue returns what is overdue, nil for nothing.
func (p *Plane) Overdue() error { return p.overdue }

// Broken returns what [Check] does, pods of stateful sets that ran twice at the same time, programs that ended when they should not or too late, and the
// overdue error. Known failures of released controllers are noted instead, as many runs would fail with them: most come from objects that were
// created and deleted before an informer listed.
func (p *Plane) Broken(seen simtest.Seen) (broken []string, err error) {
	s := newStore(seen)
	if broken, err = s.check(); err != nil {
		return broken, err
	}
	broken = slices.Concat(broken, p.twins(s), p.endings(seen))
	if p.overdue == nil || s.excused(p.overdue) {
		return broken, nil
	}
	text := p.overdue.Error()
	if w, is := errors.AsType[wrong](p.overdue); is {
		text += s.leaderToldOf(w.of)
	}
	return append(broken, text), nil
}

// excused reports whether the cause of an overdue error is known, and notes it.
func (s *store) excused(overdue error) bool {
	w, is := errors.AsType[wrong](overdue)
	if is && s.createdByStaleServer(w.of) {
		s.note("namespaces", "an API server that had not observed a namespace's deletion for 5 s has admitted an object, which outlives the namespace (namespaceDeletionGracePeriod, kubernetes/kubernetes #131421)")
		return true
	}
	if definition, is := w.of.(*apiextensionsv1.CustomResourceDefinition); is {
		return definition.DeletionTimestamp != nil && s.contended(definition) &&
			s.isFinding(58, "customresourcedefinitions.apiextensions.k8s.io", "an API server that finalised a definition has given up after a conflict, and none goes on until an informer's resync")
	}
	if is && s.shares[w.of.GetUID()] {
		return true // which is noted already
	}
	lease := s.terms[electionLeases[managerName]]
	if !is || lease == nil {
		return false
	}
	if budget, is := w.of.(*policyv1.PodDisruptionBudget); is {
		return w.overcounts && s.lostPod(budget) &&
			s.isFinding(33, "poddisruptionbudgets.policy", "a pod's labels have changed so that a budget no longer selects it, and the disruption controller does not sync that budget")
	}
	if s.circles(w.of) &&
		s.isFinding(62, "pods", "a pod that is deleted in the foreground waits for a claim that it owns, and the claim for the pod") {
		return true
	}
	if s.keepsFinalizer(w.of) &&
		s.isFinding(67, "pods", "a pod of a job was orphaned and adopted by another controller before the job controller had removed its finalizer, which nobody removes then") {
		return true
	}
	if s.keepsSlice(w.of) &&
		s.isFinding(65, slicesName, "an endpoint slice is being deleted and kept by a finalizer, and the controller updates none of its service meanwhile") {
		return true
	}
	if s.missesNode(w.of) &&
		s.isFinding(63, "persistentvolumeclaims", "a claim was deleted when a pod was bound that uses it, and nobody selects a node for the one that replaces it") {
		return true
	}
	if s.keepsRoom(w.of) &&
		s.isFinding(61, "pods", "a scheduler's informer has seen a pod that it had bound become another one of that name, and the scheduler still counts the first") {
		return true
	}
	if s.isUnmoved(w.of) &&
		s.isFinding(31, "pods", "a scheduler has preempted a pod that was on no node, as its binding had failed, and retries the pending pod only after five minutes") {
		return true
	}
	told := newTold(s.seen, lease.last)
	if s.tracksGone(w.of, told.life) {
		s.note(slicesName, "an endpoint slice was deleted while its controller wrote it, and the controller, whose answer was late, updates none of its service any more (kubernetes/kubernetes #141592)")
		return true
	}
	if w.orphan {
		for _, owner := range w.of.GetOwnerReferences() {
			if s.renamed(w.of, owner, told) &&
				s.isFinding(9, resourceOfKind(w.of), "the garbage collector ignores a change of an owner reference's name or kind that keeps the UID, and never deletes the dependent") {
				return true
			}
			resource := ownerResources[owner.Kind]
			if told.believes(owner.UID) && createdAgain(s.seen.Histories[resource], owner) &&
				s.isFinding(10, resource, "an owner was recreated before the garbage collector's informer listed again, and its dependents stay") {
				return true
			}
		}
		return false
	}
	if job := s.keeperOf(w.of); job != nil {
		w.of = job
	}
	resource := resourceOfKind(w.of)
	if s.passedOver(w.of) &&
		s.isFinding(56, resource, "a pod of a daemon set's predecessor was on a node that became eligible, so that the controller does not sync the daemon set, which has no pod there") {
		return true
	}
	if s.staysBeside(w.of) &&
		s.isFinding(41, resource, "a pod of a daemon set with maxSurge has become available unobserved, and the old pod beside it stays") {
		return true
	}
	if s.refusedByStaleServer(w.of, told.life) &&
		s.isFinding(60, "namespaces", "an API server that had not observed that a namespace was recreated has refused a create of a controller, which takes the namespace for terminating and does not try again") {
		return true
	}
	if w.ahead && len(s.namesakes(w.of)) > 0 &&
		s.isFinding(25, resource, "a controller has written the status of an object to the one recreated under its name, whose generation is lower") {
		return true
	}
	if w.of.GetDeletionTimestamp() != nil {
		return w.held && slices.ContainsFunc(s.namesakes(w.of), told.believes) &&
			s.isFinding(10, resource, "an object was recreated and deleted before the garbage collector's informer listed again, and its finalizer is never removed")
	}
	if s.failures(told.life, w.of) >= manyFailures {
		s.note("pods", "a workload's controller backs off for up to 1000 s, as many of its syncs failed: another pod had the name, a quota was used up, or the controller had not observed its own writes (workqueue.DefaultTypedControllerRateLimiter)")
		return true
	}
	living := map[types.UID]object{}
	for _, o := range s.objects {
		living[o.GetUID()] = o
	}
	for pod, owner := range s.owners {
		set := living[owner]
		isFor := owner == w.of.GetUID() || set != nil && ownerOf(set) == w.of.GetUID()
		by, going := s.created[pod], s.known[pod].going
		is := living[pod]
		removed := is == nil || s.keeperOf(is) != nil
		if isFor && removed && by != nil && by.Client == told.life && (!told.of(pod) || going != 0 && slices.Min(told.versions[pod]) >= going) {
			s.note("pods", "a pod that a controller had created was deleted before its informer listed, and the controller still expects it (kubernetes/kubernetes #129795, #136932)")
			return true
		}
	}
	if s.replacedInAList(w.of, told) &&
		s.isFinding(69, "jobs.batch", "an informer has told only by a list that a job was recreated, and the job controller still expects a pod of the first, or backs off for it") {
		return true
	}
	return s.inherits(w.of, told) &&
		s.isFinding(26, "pods", "a controller has created or deleted a pod of a deleted workload, and its expectation holds up the workload that was recreated under that name")
}

// keeperOf returns the job that keeps a terminating pod until it has created the next pod of its index, nil for none (podsWithDelayedDeletionPerIndex in
// pkg/controller/job of v1.37.2).
func (s *store) keeperOf(of metav1.Object) metav1.Object {
	pod, is := of.(*corev1.Pod)
	if !is || pod.DeletionTimestamp == nil || !slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) {
		return nil
	}
	for _, o := range s.objects {
		if job, is := o.(*batchv1.Job); is && job.UID == ownerOf(pod) && job.DeletionTimestamp == nil && job.Spec.BackoffLimitPerIndex != nil {
			return job
		}
	}
	return nil
}

// contended reports whether API servers have written a definition more than once since its deletion: it is created, accepted, established and marked as deleted by
// as many writes as unhurried has.
func (s *store) contended(definition *apiextensionsv1.CustomResourceDefinition) bool {
	const unhurried = 4
	writes := 0
	for _, change := range s.seen.Committed.Changes {
		if change.Object.Name == "/registry/"+definitions.Group+"/"+definitions.Resource+"/"+definition.Name {
			if writes++; change.Deleted {
				writes = 0
			}
		}
	}
	return writes > unhurried+1
}

// reference identifies an owner reference by the UIDs of the object and of the owner.
type reference struct{ of, owner types.UID }

// called is the kind and name in an owner reference, the first and last revisions with them, and the last revision with
// another kind or name, 0 for none.
type called struct {
	name                 string
	since, last, another int64
}

// applyReferences records the kinds and names in owner references.
func (s *store) applyReferences(now object, rv int64) {
	if now == nil {
		return
	}
	for _, owner := range now.GetOwnerReferences() {
		to, name := reference{now.GetUID(), owner.UID}, owner.Kind+"/"+owner.Name
		before, known := s.references[to]
		if known && before.name == name {
			before.last = rv
			s.references[to] = before
			continue
		}
		s.references[to] = called{name: name, since: rv, last: rv, another: before.last}
	}
}

// renamed reports whether an owner reference had another kind or name before, and a program observed no version in between.
func (s *store) renamed(of metav1.Object, owner metav1.OwnerReference, told *told) bool {
	is := s.references[reference{of.GetUID(), owner.UID}]
	between := func(rv int64) bool { return rv > is.another && rv < is.since }
	return is.another != 0 && s.seen.Histories[resourceOfKind(of)] != nil && !slices.ContainsFunc(told.versions[of.GetUID()], between)
}

// expectant are the controllers that keep expectations by the name of a workload, as named in their User-Agents.
var expectant = []string{replicaSetController, daemonSetController, jobController}

// inherits reports whether a controller created or deleted a pod of a workload after the workload's deletion, so that the expectation holds up the
// workload of that name: a daemon set, a replica set or a job, which is the given object, or its dependent.
func (s *store) inherits(of metav1.Object, told *told) bool {
	for _, o := range s.objects {
		history := s.seen.Histories[resourceOfKind(o)]
		if o.GetUID() != of.GetUID() && ownerOf(o) != of.GetUID() || history == nil {
			continue
		}
		for change := range model.Each(history.Truth.Changes) {
			if !change.Deleted || change.Object.Namespace != o.GetNamespace() || change.Object.Name != o.GetName() {
				continue
			}
			for pod, k := range s.known {
				if !k.owners[types.UID(change.Object.UID)] {
					continue
				}
				if by := s.created[pod]; by != nil && by.Client == told.life && s.born[pod] > change.RV {
					return true
				}
				if by := s.podDeletedBy(k); by != nil && by.Client == told.life && k.going > change.RV &&
					slices.ContainsFunc(expectant, func(controller string) bool { return s.isBy(controller, by) }) {
					return true
				}
			}
		}
	}
	return false
}

// namesakes returns the UIDs of all other objects that have had an object's name.
func (s *store) namesakes(of metav1.Object) (uids []types.UID) {
	history := s.seen.Histories[resourceOfKind(of)]
	if history == nil {
		return nil
	}
	for change := range model.Each(history.Truth.Changes) {
		if change.Object.Namespace == of.GetNamespace() && change.Object.Name == of.GetName() && change.Object.UID != string(of.GetUID()) {
			uids = append(uids, types.UID(change.Object.UID))
		}
	}
	return uids
}

// ownerResources are the resources of all kinds of owners and dependents.
var ownerResources = map[string]string{
	"ConfigMap": "configmaps", "CronJob": cronJobsName, "DaemonSet": "daemonsets.apps", "Deployment": "deployments.apps", "Job": "jobs.batch", "Node": "nodes", "Pod": "pods",
	"ReplicaSet": "replicasets.apps", "Secret": "secrets", "Service": "services", "StatefulSet": "statefulsets.apps",
	"ControllerRevision": "controllerrevisions.apps", "EndpointSlice": slicesName,
}

// resourceOfKind returns the resource of an object's kind, "" for kinds that are neither owners nor dependents.
func resourceOfKind(o metav1.Object) string {
	return ownerResources[strings.TrimPrefix(fmt.Sprintf("%T", o), "*v1.")]
}

// createdAgain reports whether an owner was deleted and recreated under the same name.
func createdAgain(history *model.History, owner metav1.OwnerReference) bool {
	if history == nil {
		return false
	}
	var name model.Key
	deleted := false
	for _, change := range history.Truth.Changes {
		switch {
		case change.Object.UID == string(owner.UID):
			name, deleted = change.Object.Key(), change.Deleted
		case deleted && change.Object.Key() == name:
			return true
		}
	}
	return false
}

// told is what the last life of a program observed by watches and lists.
type told struct {
	life string
	// versions are the observed resourceVersions of each object, deleted the objects whose deletion was observed.
	versions map[types.UID][]int64
	deleted  map[types.UID]bool
}

// of reports whether the program has observed an object.
func (t *told) of(uid types.UID) bool { return len(t.versions[uid]) > 0 }

// believes reports whether the program has observed an object, but not its deletion.
func (t *told) believes(uid types.UID) bool { return t.of(uid) && !t.deleted[uid] }

func newTold(seen simtest.Seen, program string) *told {
	t := &told{deleted: map[types.UID]bool{}, versions: map[types.UID][]int64{}}
	began := int64(-1)
	for _, history := range seen.Histories {
		for _, stream := range history.Streams {
			if programOf(stream.Client) == program && stream.Call > began {
				t.life, began = stream.Client, stream.Call
			}
		}
	}
	for _, history := range seen.Histories {
		for _, op := range history.Operations {
			if op.Client != t.life || op.Kind != model.List {
				continue
			}
			for _, o := range op.Objects {
				t.versions[types.UID(o.UID)] = append(t.versions[types.UID(o.UID)], o.RV)
			}
		}
		for _, stream := range history.Streams {
			if stream.Client != t.life {
				continue
			}
			for _, event := range stream.Events {
				if event.Object == nil {
					continue
				}
				uid := types.UID(event.Object.UID)
				t.versions[uid] = append(t.versions[uid], event.RV)
				t.deleted[uid] = t.deleted[uid] || event.Type == model.Deleted
			}
		}
	}
	return t
}
