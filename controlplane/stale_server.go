package controlplane

import (
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchsim/watchsim/model"
)

// namespaceGrace is how long the namespace controller waits for API servers to observe a namespace's deletion before it deletes the contents
// (namespaceDeletionGracePeriod in pkg/controller/namespace/namespace_controller.go of v1.37.2).
const namespaceGrace = 5 * time.Second

// createdByStaleServer reports whether an object was created in a terminating namespace by an API server that may not have observed the deletion for
// as long as the namespace controller waits.
func (s *store) createdByStaleServer(of metav1.Object) bool {
	ending, by := s.ending[of.GetNamespace()], s.wrote[s.born[of.GetUID()]]
	if ending == 0 || by == nil || s.born[of.GetUID()] < ending {
		return false
	}
	return s.mayNotKnow(by.Server, ending, by.Call-int64(namespaceGrace))
}

// refusedByStaleServer reports whether a controller of a life has been refused a create in the namespace of an object by an API server that may not have observed
// that the namespace was recreated. The refusal is Forbidden, as others are.
func (s *store) refusedByStaleServer(of metav1.Object, life string) bool {
	space := s.objects[namespaces+of.GetNamespace()]
	if space == nil || s.ending[space.GetName()] == 0 || s.ending[space.GetName()] > s.born[space.GetUID()] {
		return false
	}
	created := s.wrote[s.born[space.GetUID()]]
	for _, requests := range s.seen.Requests {
		for _, request := range requests {
			if request.Kind == model.Create && request.Client == life && request.Code == http.StatusForbidden && request.Scope.Namespace == space.GetName() &&
				created != nil && request.Call > created.Return && s.mayNotKnow(request.Server, s.born[space.GetUID()], request.Call) {
				return true
			}
		}
	}
	return false
}

// mayNotKnow reports whether an API server may not have observed a change of a namespace by a time, and has not made it itself.
func (s *store) mayNotKnow(server string, change, by int64) bool {
	made := s.deletedBy(change)
	return (made == nil || made.Server != server || made.Return > by) && s.mayNotCache("namespaces", server, change, by)
}

// mayNotCache reports whether the cache that an API server has of a resource may not have held a change by a time: the server had not sent it to a client from there.
func (s *store) mayNotCache(resource, server string, change, by int64) bool {
	history := s.seen.Histories[resource]
	if history == nil {
		return false
	}
	for _, op := range history.Operations {
		if op.Server == server && op.Return <= by && op.Kind == model.List && op.RV == 0 && op.ResultRV >= change {
			return false
		}
	}
	for _, stream := range history.Streams {
		for _, event := range stream.Events {
			if stream.Server == server && event.Time <= by && event.RV >= change {
				return false
			}
		}
	}
	return true
}
