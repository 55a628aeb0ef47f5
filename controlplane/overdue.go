package controlplane

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
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
	if p.overdue == nil || s.excused(p.overdue) {
		return broken, nil
	}
	text := p.overdue.Error()
	if w, is := errors.AsType[wrong](p.overdue); is {
		text += s.leaderToldOf(w.of)
	}
	return append(broken, text), nil
}

// excused reports whether it is known why nobody does what is overdue, and notes that.
func (s *store) excused(overdue error) bool {
	w, is := errors.AsType[wrong](overdue)
	if is && s.slippedIn(w.of) {
		s.note("namespaces", "an API server that had not been told for 5 s that a namespace ends has let in an object, which stays without it (namespaceDeletionGracePeriod, kubernetes/kubernetes #131421)")
		return true
	}
	lease := s.terms[electorates[managerName]]
	if !is || lease == nil {
		return false
	}
	if s.isUnmoved(w.of) &&
		s.isFinding(31, "pods", "a scheduler has made room by the deletion of a pod that was on no node, as its binding had failed, and looks at the one that waits for it after five minutes") {
		return true
	}
	told := newTold(s.seen, lease.holder)
	if w.orphan {
		for _, owner := range w.of.GetOwnerReferences() {
			if s.renamed(w.of, owner, told) &&
				s.isFinding(9, resourceOfKind(w.of), "the garbage collector's informer has seen an owner reference get another name or kind and keep its UID, which it does not look at: what has it stays") {
				return true
			}
			resource := ownerResources[owner.Kind]
			if told.believes(owner.UID) && createdAgain(s.seen.Histories[resource], owner) &&
				s.isFinding(10, resource, "the garbage collector's informer has not listed between the end of an owner and the creation of another one of its name: what belonged to it stays") {
				return true
			}
		}
		return false
	}
	resource := resourceOfKind(w.of)
	if w.ahead && len(s.namesakes(w.of)) > 0 &&
		s.isFinding(25, resource, "a controller has written the status of an object to the one that came after it with its name, whose generation is lower") {
		return true
	}
	if w.of.GetDeletionTimestamp() != nil {
		return w.held && slices.ContainsFunc(s.namesakes(w.of), told.believes) &&
			s.isFinding(10, resource, "the garbage collector's informer has not listed between the end of an object and that another one of its name was deleted: it waits for ever for its finalizer to be taken away")
	}
	if _, is := w.of.(*appsv1.StatefulSet); is && failures(s.seen, told.life, w.of) >= manyFailures {
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
		if isFor && living[pod] == nil && by != nil && by.Client == told.life && (!told.of(pod) || going != 0 && slices.Min(told.versions[pod]) >= going) {
			s.note("pods", "a pod that a controller had created was gone, or had to go, before its informer listed, and the controller waits for it (kubernetes/kubernetes #129795, #136932)")
			return true
		}
	}
	return s.inherits(w.of, told) &&
		s.isFinding(26, "pods", "a controller has created or deleted a pod of a workload that was deleted, and waits to be told of it before it does so for the next one of its name")
}

// namespaceGrace is how long the namespace controller waits for API servers to learn that a namespace ends, before it deletes what is in it
// (namespaceDeletionGracePeriod in pkg/controller/namespace/namespace_controller.go of v1.37.2).
const namespaceGrace = 5 * time.Second

// slippedIn reports whether an object was created in a namespace that was ending, by an API server of which nothing shows that it had known that for as
// long as the namespace controller waits: it had not marked the namespace itself, nor told anybody of that from its cache.
func (s *store) slippedIn(of metav1.Object) bool {
	history, ending, by := s.seen.Histories["namespaces"], s.ending[of.GetNamespace()], s.wrote[s.born[of.GetUID()]]
	if history == nil || ending == 0 || by == nil || s.born[of.GetUID()] < ending {
		return false
	}
	knew := by.Call - int64(namespaceGrace)
	if marked := s.deletedBy(ending); marked != nil && marked.Server == by.Server && marked.Return <= knew {
		return false
	}
	for _, op := range history.Operations {
		if op.Server == by.Server && op.Return <= knew && op.Kind == model.List && op.RV == 0 && op.ResultRV >= ending {
			return false
		}
	}
	for _, stream := range history.Streams {
		for _, event := range stream.Events {
			if stream.Server == by.Server && event.Time <= knew && event.RV >= ending {
				return false
			}
		}
	}
	return true
}

// isUnmoved reports whether an object is a pod on no node, or one of its namespace is, and the scheduler that leads has deleted a pod whose binding it had
// asked for in vain.
func (s *store) isUnmoved(of metav1.Object) bool {
	lease := s.terms[electorates[schedulerName]]
	if lease == nil {
		return false
	}
	waits, life := false, newTold(s.seen, lease.holder).life
	for _, o := range s.objects {
		pod, is := o.(*corev1.Pod)
		waits = waits || is && pod.Namespace == of.GetNamespace() && pod.Spec.NodeName == "" && lives(pod)
	}
	for _, k := range s.known {
		inVain := func(request *importer.Told) bool {
			return request.Subresource == "binding" && request.Client == life && request.Code != http.StatusCreated &&
				request.Scope == model.Scope{Namespace: k.pod.Namespace, Name: k.pod.Name}
		}
		if by := s.deletedBy(k.going); waits && by != nil && by.Client == life && k.pod.Spec.NodeName == "" && slices.ContainsFunc(s.seen.Requests["pods"], inVain) {
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
func (s *store) renamed(of metav1.Object, owner metav1.OwnerReference, told *told) bool {
	is := s.references[reference{of.GetUID(), owner.UID}]
	between := func(rv int64) bool { return rv > is.another && rv < is.since }
	return is.another != 0 && s.seen.Histories[resourceOfKind(of)] != nil && !slices.ContainsFunc(told.versions[of.GetUID()], between)
}

// expectant are the controllers that wait for what they expect of a workload, by its name, as they name themselves to API servers.
var expectant = []string{"replicaset-controller", daemonSetController, jobController}

// inherits reports whether a controller created or deleted a pod of a workload after its end, which it waits for on behalf of the next one of its
// name: a daemon set, a replica set or a job, which is the given object, or belongs to it.
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

// namesakes are the UIDs of other objects that there have been of the name of one.
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
	// versions are the resourceVersions of each object that it was told of, and deleted are those of whose deletion.
	versions map[types.UID][]int64
	deleted  map[types.UID]bool
}

// of reports whether the program was told of an object.
func (t *told) of(uid types.UID) bool { return len(t.versions[uid]) > 0 }

// believes reports whether it was, and was not told of the object's end.
func (t *told) believes(uid types.UID) bool { return t.of(uid) && !t.deleted[uid] }

func newTold(seen simtest.Seen, program string) *told {
	t := &told{deleted: map[types.UID]bool{}, versions: map[types.UID][]int64{}}
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
