package controlplane

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchsim/watchsim/model"
)

// sharedInformers is how the informers that most controllers share name themselves to API servers.
const sharedInformers = "shared-informers"

// informed returns when the shared informers of a controller manager were first told by a watch of an object as it was at a revision, or later;
// model.Pending if they never were. Other parts of the manager watch the same resource, too.
func (s *store) informed(resource, client string, of types.UID, rv int64) int64 {
	first := model.Pending
	history := s.seen.Histories[resource]
	if history == nil {
		return first
	}
	for stream := range model.Each(history.Streams) {
		opened, known := s.requests[requestOf{stream.Client, stream.Call, stream.Scope}]
		if stream.Client != client || !known || !isOf(opened.all[opened.at], sharedInformers) {
			continue
		}
		for event := range model.Each(stream.Events) {
			if event.IsData() && event.Object.UID == string(of) && event.RV >= rv && (first == model.Pending || event.Time < first) {
				first = event.Time
			}
		}
	}
	return first
}

// ofWorkloads are the controllers that delete the pods of workloads.
var ofWorkloads = append([]string{statefulSetController}, expectant...)

// deletedOnce looks at the requests for a pod by the time at which it is gone: later ones are for another one of its name. A controller that has
// been answered that a pod is deleted, and been told so for a while, does not delete it.
func deletedOnce(s *store, key string, old, now object, rv int64) string {
	before, after := both[corev1.Pod](old, now)
	if before == nil || after != nil && after.UID == before.UID || s.pods == nil || s.wrote[rv] == nil {
		return ""
	}
	going := s.known[before.UID].going
	deleted := map[string]bool{} // by clients
	for _, request := range s.seen.Requests["pods"] {
		if request.Kind != model.Delete || request.Scope.Namespace+"/"+request.Scope.Name != nameOf(key) ||
			!slices.ContainsFunc(ofWorkloads, func(controller string) bool { return isOf(request, controller) }) {
			continue
		}
		if !deleted[request.Client] {
			deleted[request.Client] = request.Err == model.OK && request.Return != model.Pending
			continue
		}
		told := s.informed("pods", request.Client, before.UID, going)
		if told != model.Pending && request.Call > told+2*int64(decision) && request.Call < s.wrote[rv].Return {
			return fmt.Sprintf("%s deletes pod %s at %s, and has been told at %s that it goes", request.Client, nameOf(key), model.At(request.Call), model.At(told))
		}
	}
	return ""
}
