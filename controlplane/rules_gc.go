package controlplane

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces/importer"
)

// The names of the garbage collectors in their User-Agent.
const (
	garbageCollector    = "generic-garbage-collector"
	podGarbageCollector = "pod-garbage-collector"
)

// namespaces is the prefix of namespaces in etcd.
const namespaces = "/registry/namespaces/"

// ownedIsKept checks deletions by the garbage collector, and any deletion by a controller manager of config maps, secrets and
// custom objects, which otherwise only users delete.
//
// The garbage collector reads each owner from etcd before it deletes, and no UID is used twice: an absent owner
// stays absent. The garbage collector treats a terminating owner as absent.
func ownedIsKept(s *store, key string, old, now object, rv int64) string {
	if !beginsDeletion(old, now) {
		return ""
	}
	by := s.wrote[rv]
	if by == nil || !strings.HasPrefix(by.Client, managerName) {
		return ""
	}
	switch old.(type) {
	case *corev1.ConfigMap, *corev1.Secret, *unstructured.Unstructured:
	default:
		if !s.isBy(garbageCollector, by) {
			return ""
		}
	}
	// The namespace controller deletes all contents of a terminating namespace.
	if space := s.objects[namespaces+old.GetNamespace()]; space == nil || space.GetDeletionTimestamp() != nil {
		return ""
	}
	owners := old.GetOwnerReferences()
	wrong := ""
	if len(owners) == 0 {
		wrong = fmt.Sprintf("%s deletes %s, which has no owner", by.Client, nameOf(key))
	}
	objects := slices.Collect(maps.Values(s.objects))
	for _, owner := range owners {
		at := slices.IndexFunc(objects, func(o object) bool { return isOwner(owner, o, old) && o.GetDeletionTimestamp() == nil })
		if at >= 0 {
			if _, custom := objects[at].(*unstructured.Unstructured); custom && s.unserved(objects[at], by) &&
				s.isFinding(66, "owned objects", "the garbage collector has deleted an object whose owner, a custom object, an API server has not found that did not serve its resource yet") {
				return ""
			}
			wrong = fmt.Sprintf("%s deletes %s, whose owner exists, %s %s with UID %s", by.Client, nameOf(key), owner.Kind, owner.Name, owner.UID)
			break
		}
	}
	if wrong != "" && s.referredUnseen(key, by) &&
		s.isFinding(12, "owned objects", "the garbage collector has deleted an object whose owner references changed after it had compared them for the second time") {
		return ""
	}
	return wrong
}

// unserved reports whether an API server answered the program of an operation, before that, that it does not find a custom object, which exists (finding 66).
func (s *store) unserved(custom object, by *model.Operation) bool {
	for resource, requests := range s.seen.Requests {
		if strings.HasSuffix(resource, "."+custom.(*unstructured.Unstructured).GroupVersionKind().Group) && slices.ContainsFunc(requests, func(r *importer.Told) bool {
			return r.Kind == model.Get && r.Code == http.StatusNotFound && r.Client == by.Client && r.Return <= by.Call && r.Scope.Name == custom.GetName() && r.Scope.Namespace == custom.GetNamespace()
		}) {
			return true
		}
	}
	return false
}

// referredUnseen reports whether an object's owner references changed after the garbage collector had read it again because of a
// conflict: the deletion that follows has no precondition but the UID (finding 12).
func (s *store) referredUnseen(key string, deletion *model.Operation) bool {
	found, known := s.requests[requestOf{deletion.Client, deletion.Call, deletion.Scope}]
	if !known {
		return false
	}
	var read *importer.Told
	for i := found.at - 1; i >= 0; i-- {
		request := found.all[i]
		if request.Client != deletion.Client || request.Scope != deletion.Scope || !isOf(request, garbageCollector) || request.Kind == model.Update {
			continue // by another of its goroutines, which orphans dependents
		}
		switch {
		case read == nil && request.Kind == model.Get:
			read = request
		case read == nil:
			return false
		default:
			return request.Kind == model.Delete && request.Code == http.StatusConflict && s.referred[key] > read.Op.ResultRV
		}
	}
	return false
}

// isOwner reports whether an owner reference of a dependent refers to an object. If the object is in another namespace,
// or has another kind or name than the reference says, the owner is absent
// (kubernetes.io/docs/concepts/architecture/garbage-collection, kubernetes/kubernetes #65200).
func isOwner(reference metav1.OwnerReference, of, dependent metav1.Object) bool {
	if reference.UID != of.GetUID() || reference.Name != of.GetName() || of.GetNamespace() != "" && of.GetNamespace() != dependent.GetNamespace() {
		return false
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(of.(object))
	return err == nil && kinds[0].Kind == reference.Kind && kinds[0].GroupVersion().String() == reference.APIVersion
}

// finalizersHold checks removed objects. One that was being deleted, and whose last finalizer was removed, still has it in its last state in etcd.
func finalizersHold(s *store, key string, old, now object, rv int64) string {
	if old == nil || now != nil || len(old.GetFinalizers()) == 0 || len(old.GetFinalizers()) == 1 && old.GetDeletionTimestamp() != nil {
		return ""
	}
	if by := s.removedBy(old, rv); by == nil && s.removedMeanwhile(key, old) || by != nil && s.writtenSince(by.Call, key, old) && s.removesTheNext(by, old) {
		return ""
	}
	return fmt.Sprintf("%s is removed with the finalizers %q", nameOf(key), old.GetFinalizers())
}

// removesTheNext notes why a request has removed a version of an object that was written after the request, or the next object of its name.
func (s *store) removesTheNext(by *model.Operation, old object) bool {
	const resource = "objects with finalizers"
	born := s.deletedBy(s.born[old.GetUID()])
	switch at, known := s.requests[requestOf{by.Client, by.Call, by.Scope}]; {
	case !known || at.all[at.at].Kind != model.Delete:
		return s.isFinding(19, resource, "an update that removed the last finalizer has deleted a newer version of the object, which has others")
	case born != nil && born.Return > by.Call:
		return s.isFinding(70, resource, "a DELETE has removed an object that was created after it had read another one of that name")
	}
	s.note(resource, gotFinalizer)
	return true
}

// gotFinalizer is what a DELETE does with a finalizer that it has not read.
const gotFinalizer = "a DELETE has removed an object that got a finalizer after it had read the object (kubernetes/kubernetes #77988)"

// removedMeanwhile notes that an object was last written while all objects of its namespace were being deleted by one request, the answer to which does not say when
// it deleted which.
func (s *store) removedMeanwhile(key string, old object) bool {
	last := s.deletedBy(s.changed[key])
	if last == nil || !slices.ContainsFunc(s.seen.Requests[resourceOfKind(old)], func(request *importer.Told) bool {
		return request.Kind == model.Delete && request.Scope == model.Scope{Namespace: old.GetNamespace()} && request.Call < last.Return && (request.Return == model.Pending || request.Return > last.Call)
	}) {
		return false
	}
	s.note("objects with finalizers", gotFinalizer)
	return true
}

// writtenSince reports whether the last state of an object was written by a request that was answered after a time. If it is unknown which one that was, as the
// answers to several deletions do not tell, any deletion may have been.
func (s *store) writtenSince(time int64, key string, old object) bool {
	if last := s.deletedBy(s.changed[key]); last != nil {
		return last.Return > time
	}
	return slices.ContainsFunc(s.seen.Requests[resourceOfKind(old)], func(request *importer.Told) bool {
		return request.Kind == model.Delete && request.Scope == model.Scope{Namespace: old.GetNamespace(), Name: old.GetName()} && request.Return > time
	})
}

// ownerIsLast checks objects that the garbage collector removes, or whose finalizer foregroundDeletion it removes, as no blocking dependents are left.
// It counts dependents that the collector's shared informers had observed a while ago, with their present owners.
func ownerIsLast(s *store, key string, old, now object, rv int64) string {
	if !awaitsDependents(old) || now != nil && now.GetUID() == old.GetUID() && awaitsDependents(now) {
		return ""
	}
	by := s.deletedBy(rv)
	if by == nil || !s.isBy(garbageCollector, by) {
		return ""
	}
	for _, at := range slices.Sorted(maps.Keys(s.objects)) {
		dependent := s.objects[at]
		if dependent == nil || !slices.ContainsFunc(dependent.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
			return ptr.Deref(r.BlockOwnerDeletion, false) && isOwner(r, old, dependent)
		}) {
			continue
		}
		if s.wasTold(by, resourceOfKind(dependent), last{dependent.GetUID(), s.referred[at]}) {
			return fmt.Sprintf("%s finishes the foreground deletion of %s before that of its dependent %s", by.Client, nameOf(key), nameOf(at))
		}
	}
	return ""
}

// awaitsDependents reports whether an object is being deleted in the foreground: it is removed after its dependents.
func awaitsDependents(o object) bool {
	return o != nil && o.GetDeletionTimestamp() != nil && slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents)
}
