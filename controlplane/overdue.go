package controlplane

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
)

// Overdue keeps what [Late] has returned, for [Plane.Broken] to judge once it is known what controllers were told.
func (p *Plane) Overdue(late error) { p.overdue = late }

// Broken says what [Check] does, which pods of stateful sets have run twice, and what is overdue. What released controllers are known not to bring about in time is noted
// instead, or every other run would end with it: most of it comes of what was there and gone again before their informers listed.
func (p *Plane) Broken(seen simtest.Seen) (broken []string, err error) {
	s := newStore(seen)
	if broken, err = s.check(); err != nil {
		return broken, err
	}
	broken = append(broken, p.twins(s)...)
	if p.overdue == nil || s.excused(p.overdue, seen) {
		return broken, nil
	}
	text := p.overdue.Error()
	if w := (wrong{}); errors.As(p.overdue, &w) {
		text += s.leaderToldOf(w.of)
	}
	return append(broken, text), nil
}

// excused reports whether it is known why nobody does what is overdue, and notes that.
func (s *store) excused(overdue error, seen simtest.Seen) bool {
	var w wrong
	lease := s.terms[electorates[managerName]]
	if !errors.As(overdue, &w) || lease == nil {
		return false
	}
	if s.isUnmoved(w.of, seen) &&
		s.isFinding(31, "pods", "a scheduler has made room by the deletion of a pod that was on no node, as its binding had failed, and looks at the one that waits for it after five minutes") {
		return true
	}
	told := newTold(seen, lease.holder)
	if w.orphan {
		for _, owner := range w.of.GetOwnerReferences() {
			if s.renamed(w.of, owner, told, seen) &&
				s.isFinding(9, resourceOfKind(w.of), "the garbage collector's informer has seen an owner reference get another name or kind and keep its UID, which it does not look at: what has it stays") {
				return true
			}
			resource := ownerResources[owner.Kind]
			if told.of(owner.UID) && !told.deleted[owner.UID] && createdAgain(seen.Histories[resource], owner) &&
				s.isFinding(10, resource, "the garbage collector's informer has not listed between the end of an owner and the creation of another one of its name: what belonged to it stays") {
				return true
			}
		}
		return false
	}
	resource := resourceOfKind(w.of)
	if w.ahead && replaces(seen.Histories[resource], w.of) &&
		s.isFinding(25, resource, "a controller has written the status of an object to the one that came after it with its name, whose generation is lower") {
		return true
	}
	if w.of.GetDeletionTimestamp() != nil {
		return w.held && told.replaced(seen.Histories[resource], w.of) &&
			s.isFinding(10, resource, "the garbage collector's informer has not listed between the end of an object and that another one of its name was deleted: it waits for ever for its finalizer to be taken away")
	}
	if _, is := w.of.(*appsv1.StatefulSet); is && failures(seen, told.life, w.of) >= manyFailures {
		s.note("pods", "so many requests for a stateful set were refused, as another pod had the name or a quota was used up, that its controller waits for up to 1000 s (workqueue.DefaultTypedControllerRateLimiter)")
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
		if isFor && living[pod] == nil && by != nil && by.Client == told.life && (!told.of(pod) || going != 0 && told.first[pod] >= going) {
			s.note("pods", "a pod that a controller had created was gone, or had to go, before its informer listed, and the controller waits for it (kubernetes/kubernetes #129795, #136932)")
			return true
		}
	}
	return s.inherits(w.of, told, seen) &&
		s.isFinding(26, "pods", "a controller has created or deleted a pod of a workload that was deleted, and waits to be told of it before it does so for the next one of its name")
}

// isUnmoved reports whether an object is a pod on no node, or one of its namespace is, and the scheduler that leads has deleted a pod which was on none.
func (s *store) isUnmoved(of metav1.Object, seen simtest.Seen) bool {
	lease := s.terms[electorates[schedulerName]]
	if lease == nil {
		return false
	}
	waits, life := false, newTold(seen, lease.holder).life
	for _, o := range s.objects {
		pod, is := o.(*corev1.Pod)
		waits = waits || is && pod.Namespace == of.GetNamespace() && pod.Spec.NodeName == "" && lives(pod)
	}
	for _, k := range s.known {
		if by := s.deletedBy(k.going); waits && by != nil && by.Client == life && k.pod.Spec.NodeName == "" {
			return true
		}
	}
	return false
}

// reference is one of an object to an owner, both by their UIDs.
type reference struct{ of, owner types.UID }

// called is by what kind and name an object refers to an owner, since and up to which revisions, and what was the last revision of which
// it was called otherwise, 0 for none.
type called struct {
	name                 string
	since, last, another int64
}

// applyReferences notes what an object calls its owners.
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

// renamed reports whether an object has called an owner otherwise before, and a program was told of no version in between.
func (s *store) renamed(of metav1.Object, owner metav1.OwnerReference, told *told, seen simtest.Seen) bool {
	is, history := s.references[reference{of.GetUID(), owner.UID}], seen.Histories[resourceOfKind(of)]
	if is.another == 0 || history == nil {
		return false
	}
	between := func(client string, o *model.Object, rv int64) bool {
		return client == told.life && o != nil && o.UID == string(of.GetUID()) && rv > is.another && rv < is.since
	}
	for i := range history.Operations {
		op := &history.Operations[i]
		for j := range op.Objects {
			if op.Kind == model.List && between(op.Client, &op.Objects[j], op.Objects[j].RV) {
				return false
			}
		}
	}
	for i := range history.Streams {
		for j := range history.Streams[i].Events {
			if e := &history.Streams[i].Events[j]; between(history.Streams[i].Client, e.Object, e.RV) {
				return false
			}
		}
	}
	return true
}

// expectant are the controllers that wait for what they expect of a workload, by its name, as they name themselves to API servers.
var expectant = []string{"replicaset-controller", daemonSetController, jobController}

// inherits reports whether a controller created or deleted a pod of a workload after its end, which it waits for on behalf of the next one of its
// name: a daemon set, a replica set or a job, which is the given object, or belongs to it.
func (s *store) inherits(of metav1.Object, told *told, seen simtest.Seen) bool {
	for _, o := range s.objects {
		history := seen.Histories[resourceOfKind(o)]
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
				going := k.going
				if by := s.wrote[going]; by != nil && by.Client == told.life && going > change.RV &&
					slices.ContainsFunc(expectant, func(controller string) bool { return s.isBy(controller, by) }) {
					return true
				}
			}
		}
	}
	return false
}

// replaces reports whether there was another object of the name of one before.
func replaces(history *model.History, of metav1.Object) bool {
	if history == nil {
		return false
	}
	for change := range model.Each(history.Truth.Changes) {
		if change.Object.Namespace == of.GetNamespace() && change.Object.Name == of.GetName() && change.Object.UID != string(of.GetUID()) {
			return true
		}
	}
	return false
}

// replaced reports whether a program was told of an earlier object of the same name, and not of its end.
func (t *told) replaced(history *model.History, of metav1.Object) bool {
	if history == nil {
		return false
	}
	for change := range model.Each(history.Truth.Changes) {
		uid := types.UID(change.Object.UID)
		if change.Object.Namespace == of.GetNamespace() && change.Object.Name == of.GetName() && uid != of.GetUID() && t.of(uid) && !t.deleted[uid] {
			return true
		}
	}
	return false
}

// manyFailures is after how many a controller waits for longer than [Late] does: each of them doubles the 5 ms that it
// waits after the first, also those that events have brought on before the time. A request that was refused is a failure.
const manyFailures = 14

// statefulSetController is how that controller names itself to API servers.
const statefulSetController = "statefulset-controller"

// failures is how many requests of a life of a controller manager for a stateful set, its status or its pods were refused. That what it deletes
// is gone already is none.
func failures(seen simtest.Seen, life string, set metav1.Object) (count int) {
	for _, resource := range []string{"pods", "statefulsets.apps"} {
		for _, request := range seen.Requests[resource] {
			of := request.Scope
			gone := request.Kind == model.Delete && request.Code == http.StatusNotFound
			if request.Client == life && isOf(request, statefulSetController) && request.Code >= http.StatusBadRequest && !gone &&
				of.Namespace == set.GetNamespace() && (of.Name == set.GetName() || strings.HasPrefix(of.Name, set.GetName()+"-")) {
				count++
			}
		}
	}
	return count
}

// ownerResources are the resources of kinds that own others here, or are owned.
var ownerResources = map[string]string{
	"ConfigMap": "configmaps", "DaemonSet": "daemonsets.apps", "Deployment": "deployments.apps", "Job": "jobs.batch", "Node": "nodes", "Pod": "pods",
	"ReplicaSet": "replicasets.apps", "Secret": "secrets", "Service": "services", "StatefulSet": "statefulsets.apps",
	"ControllerRevision": "controllerrevisions.apps", "EndpointSlice": "endpointslices.discovery.k8s.io",
}

// resourceOfKind is the resource of an object's kind, of those that own others or belong to them.
func resourceOfKind(o metav1.Object) string {
	return ownerResources[strings.TrimPrefix(fmt.Sprintf("%T", o), "*v1.")]
}

// createdAgain reports whether an object was deleted, and there has been another one of its name.
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

// told is what the last life of a program was told by watches and lists.
type told struct {
	life string
	// first has the lowest resourceVersion of each object that it was told of, and deleted those of whose deletion.
	first   map[types.UID]int64
	deleted map[types.UID]bool
}

// of reports whether the program was told of an object.
func (t *told) of(uid types.UID) bool {
	_, is := t.first[uid]
	return is
}

// add notes that the program was told of an object.
func (t *told) add(o *model.Object, rv int64) {
	uid := types.UID(o.UID)
	if first, known := t.first[uid]; !known || rv < first {
		t.first[uid] = rv
	}
}

func newTold(seen simtest.Seen, program string) *told {
	t := &told{deleted: map[types.UID]bool{}, first: map[types.UID]int64{}}
	began := int64(-1)
	for _, history := range seen.Histories {
		for _, stream := range history.Streams {
			if name, _, _ := strings.Cut(stream.Client, " "); name == program && stream.Call > began {
				t.life, began = stream.Client, stream.Call
			}
		}
	}
	for _, history := range seen.Histories {
		for _, op := range history.Operations {
			if op.Client != t.life || op.Kind != model.List {
				continue
			}
			for i := range op.Objects {
				t.add(&op.Objects[i], op.Objects[i].RV)
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
				t.add(event.Object, event.RV)
				uid := types.UID(event.Object.UID)
				t.deleted[uid] = t.deleted[uid] || event.Type == model.Deleted
			}
		}
	}
	return t
}
