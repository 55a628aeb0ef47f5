package controlplane

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchsim/watchsim/model"
)

// sharedInformers is the name of the informers that most controllers share in their User-Agent.
const sharedInformers = "shared-informers"

// informed returns when the shared informers of a controller manager first observed, by a watch, an object's state at a revision or later;
// model.Pending if they never did. Other parts of the manager watch the same resource, too.
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

// workloadControllers are those that delete the pods of workloads.
var workloadControllers = append([]string{statefulSetController}, expectant...)

// deletedOnce checks the requests for a pod that were sent before it was removed: later ones are for another pod of that name. A controller must not
// delete a pod again once its deletion has succeeded and its informer has observed that a while ago.
func deletedOnce(s *store, key string, old, now object, rv int64) string {
	before, after := both[corev1.Pod](old, now)
	if before == nil || after != nil && after.UID == before.UID || s.pods == nil || s.wrote[rv] == nil {
		return ""
	}
	going := s.known[before.UID].going
	deleted := map[string]bool{} // by clients
	for _, request := range s.seen.Requests["pods"] {
		if request.Kind != model.Delete || request.Scope.Namespace+"/"+request.Scope.Name != nameOf(key) ||
			!slices.ContainsFunc(workloadControllers, func(controller string) bool { return isOf(request, controller) }) {
			continue
		}
		if !deleted[request.Client] {
			deleted[request.Client] = request.Err == model.OK && request.Return != model.Pending
			continue
		}
		told := s.informed("pods", request.Client, before.UID, going)
		if told != model.Pending && request.Call > told+2*int64(decision) && request.Call < s.wrote[rv].Return {
			return fmt.Sprintf("%s deletes pod %s again at %s, and was told at %s that it is terminating", request.Client, nameOf(key), model.At(request.Call), model.At(told))
		}
	}
	return ""
}
