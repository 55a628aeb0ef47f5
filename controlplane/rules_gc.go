package controlplane

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces/importer"
)

// How the collectors of a controller manager name themselves to API servers.
const (
	garbageCollector    = "generic-garbage-collector"
	podGarbageCollector = "pod-garbage-collector"
)

// namespaces is where etcd has them.
const namespaces = "/registry/namespaces/"

// ownedIsKept looks at deletions, and marks for deletion, by the garbage collector, and by controller managers of what else only users delete.
//
// The garbage collector reads each owner from etcd before it deletes, and no UID is used twice: an owner that
// it has not found does not come back. It takes one that is being deleted for gone.
func ownedIsKept(s *store, key string, old, now object, rv int64) string {
	if !isGoing(old, now) {
		return ""
	}
	by := s.wrote[rv]
	if by == nil || !strings.HasPrefix(by.Client, managerName) {
		return ""
	}
	switch old.(type) {
	case *corev1.ConfigMap, *corev1.Secret:
	default:
		if !s.isBy(garbageCollector, by) {
			return ""
		}
	}
	// The namespace controller deletes all that a namespace has.
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
		if slices.ContainsFunc(objects, func(o object) bool { return isOwner(owner, o, old) && o.GetDeletionTimestamp() == nil }) {
			wrong = fmt.Sprintf("%s deletes %s, whose owner lives, %s %s with UID %s", by.Client, nameOf(key), owner.Kind, owner.Name, owner.UID)
			break
		}
	}
	if wrong != "" && s.referredUnseen(key, by) &&
		s.isFinding(12, "owned objects", "the garbage collector has deleted an object whose owner references changed after it had compared them for the second time") {
		return ""
	}
	return wrong
}

// referredUnseen reports whether the owner references of an object changed after the garbage collector had read it again, as its deletion had
// met with a conflict: the deletion that follows then has no precondition but the UID (finding 12).
func (s *store) referredUnseen(key string, deletion *model.Operation) bool {
	found, known := s.requests[requestOf{deletion.Client, deletion.Call, deletion.Scope}]
	change := s.wrote[s.referred[key]]
	if !known || change == nil {
		return false
	}
	var read *importer.Told
	for i := found.at - 1; i >= 0; i-- {
		request := found.all[i]
		if request.Client != deletion.Client || request.Scope != deletion.Scope || !isOf(request, garbageCollector) || request.Kind == model.Update {
			continue // another of its goroutines takes owners away that are to leave what they own behind
		}
		switch {
		case read == nil && request.Kind == model.Get:
			read = request
		case read == nil:
			return false
		default:
			return request.Kind == model.Delete && request.Code == http.StatusConflict && change.Return > read.Call
		}
	}
	return false
}

// isOwner reports whether a reference of a dependent is to an object. One to an object in another namespace is to
// none, and so is one with the UID of an object and another kind or name: such an owner is absent
// (kubernetes.io/docs/concepts/architecture/garbage-collection, kubernetes/kubernetes #65200).
func isOwner(reference metav1.OwnerReference, of, dependent metav1.Object) bool {
	if reference.UID != of.GetUID() || reference.Name != of.GetName() || of.GetNamespace() != "" && of.GetNamespace() != dependent.GetNamespace() {
		return false
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(of.(object))
	return err == nil && kinds[0].Kind == reference.Kind && kinds[0].GroupVersion().String() == reference.APIVersion
}

// finalizersHold looks at what goes. Who takes the last finalizer away leaves it in what etcd held last.
func finalizersHold(_ *store, key string, old, now object, _ int64) string {
	if old == nil || now != nil || len(old.GetFinalizers()) < 2 {
		return ""
	}
	return fmt.Sprintf("%s goes with the finalizers %q", nameOf(key), old.GetFinalizers())
}

// ownerIsLast looks at what goes, or need not wait any more, as the garbage collector says that nothing is left of what it waits for. It counts what the
// informers that the collector shares had been told of for a while, with its present owners.
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
			return fmt.Sprintf("%s lets %s go, while %s is left, which it owns", by.Client, nameOf(key), nameOf(at))
		}
	}
	return ""
}

// awaitsDependents reports whether an object is marked for deletion and goes when nothing is left that it owns.
func awaitsDependents(o object) bool {
	return o != nil && o.GetDeletionTimestamp() != nil && slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents)
}
