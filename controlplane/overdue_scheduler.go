package controlplane

import (
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces/importer"
)

// isUnmoved reports whether a pod in the namespace of an object is pending, and the leading scheduler has deleted a pod for which its bind request had
// failed (finding 31).
func (s *store) isUnmoved(of metav1.Object) bool {
	life := s.scheduler()
	if life == "" || !s.hasPending(of.GetNamespace()) {
		return false
	}
	for _, k := range s.known {
		inVain := func(request *importer.Told) bool {
			return request.Subresource == "binding" && binds(request.Client, life) && request.Code != http.StatusCreated &&
				request.Scope == model.Scope{Namespace: k.pod.Namespace, Name: k.pod.Name}
		}
		if by := s.podDeletedBy(k); by != nil && by.Client == life && k.pod.Spec.NodeName == "" && slices.ContainsFunc(s.seen.Requests["pods"], inVain) {
			return true
		}
	}
	return false
}

// keepsRoom reports whether a pod in the namespace of an object is pending, and the leading scheduler may still count a pod that is gone: it had bound that
// pod, and has listed pods since another one of the name was created, which its informer takes for the first (finding 61).
func (s *store) keepsRoom(of metav1.Object) bool {
	life := s.scheduler()
	if life == "" || s.bindings == nil || !s.hasPending(of.GetNamespace()) {
		return false
	}
	for uid, first := range s.known {
		bound := s.bindings.by[uid]
		if first.gone == 0 || bound == nil || !binds(bound.Client, life) {
			continue
		}
		for other, second := range s.known {
			made := s.wrote[s.born[other]]
			lists := func(request *importer.Told) bool {
				return request.Client == life && request.Scope.Namespace == "" && (request.InitialEvents || request.Kind == model.List && !request.Watch) &&
					request.Call > bound.Call && (request.Return == model.Pending || request.Return > made.Call)
			}
			if second.pod.Namespace == first.pod.Namespace && second.pod.Name == first.pod.Name && made != nil && s.born[other] > first.gone &&
				slices.ContainsFunc(s.seen.Requests["pods"], lists) {
				return true
			}
		}
	}
	return false
}

// binds reports whether a client may bind pods for a life of a scheduler: it is that life or its extender.
func binds(client, life string) bool { return client == life || programOf(client) == extenderName }

// scheduler returns the life of the scheduler that led last, empty if none did.
func (s *store) scheduler() string {
	lease := s.terms[electionLeases[schedulerName]]
	if lease == nil {
		return ""
	}
	return newTold(s.seen, lease.last).life
}

// hasPending reports whether a living pod of a namespace is on no node.
func (s *store) hasPending(namespace string) bool {
	for _, o := range s.objects {
		if pod, is := o.(*corev1.Pod); is && pod.Namespace == namespace && pod.Spec.NodeName == "" && lives(pod) {
			return true
		}
	}
	return false
}
