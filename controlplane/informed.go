package controlplane

import (
	"fmt"
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces/importer"
)

// sharedInformers is the name of the informers that most controllers share in their User-Agent.
const sharedInformers = "shared-informers"

// received yields the events that the shared informers of a controller manager have received. Other parts of the manager watch the same resource, too.
func (s *store) received(resource, client string) iter.Seq[*model.Event] {
	return func(yield func(*model.Event) bool) {
		history := s.seen.Histories[resource]
		if history == nil {
			return
		}
		for stream := range model.Each(history.Streams) {
			opened, known := s.requests[requestOf{stream.Client, stream.Call, stream.Scope}]
			if stream.Client != client || !known || !isOf(opened.all[opened.at], sharedInformers) {
				continue
			}
			for event := range model.Each(stream.Events) {
				if event.IsData() && !yield(event) {
					return
				}
			}
		}
	}
}

// informed returns when the shared informers of a controller manager first observed, by a watch, an object's state at a revision or later;
// model.Pending if they never did.
func (s *store) informed(resource, client string, of types.UID, rv int64) int64 {
	first := model.Pending
	for event := range s.received(resource, client) {
		if event.Object.UID == string(of) && event.RV >= rv && (first == model.Pending || event.Time < first) {
			first = event.Time
		}
	}
	return first
}

// workloadControllers are those that delete the pods of workloads.
var workloadControllers = append([]string{statefulSetController}, expectant...)

// deletedOnce checks the requests for a pod that were sent before it was removed: later ones are for another pod of that name. A controller must not
// delete a pod again once its deletion has succeeded and its informer has observed that; a while ago, unless it has waited for that.
func deletedOnce(s *store, key string, old, now object, rv int64) string {
	before, after := both[corev1.Pod](old, now)
	if before == nil || after != nil && after.UID == before.UID || s.pods == nil || s.wrote[rv] == nil {
		return ""
	}
	going := s.known[before.UID].going
	deleted := map[string]*importer.Told{} // by clients
	for _, request := range s.seen.Requests["pods"] {
		if request.Kind != model.Delete || request.Scope.Namespace+"/"+request.Scope.Name != nameOf(key) ||
			!slices.ContainsFunc(workloadControllers, func(controller string) bool { return isOf(request, controller) }) {
			continue
		}
		first := deleted[request.Client]
		if first == nil {
			if request.Err == model.OK && request.Return != model.Pending {
				deleted[request.Client] = request
			}
			continue
		}
		told := s.informed("pods", request.Client, before.UID, going)
		if told == model.Pending || request.Call <= told || request.Call >= s.wrote[rv].Return {
			continue
		}
		if request.Call > told+2*int64(decision) || s.expected(first, request, before.UID) {
			return fmt.Sprintf("%s deletes pod %s again at %s, and was told at %s that it is terminating", request.Client, nameOf(key), model.At(request.Call), model.At(told))
		}
	}
	return ""
}

// waiting are the controllers that delete no pod while they expect to observe another deletion.
var waiting = []string{replicaSetController, daemonSetController}

// expected reports whether a controller must have observed one deletion of a pod before it decided on another one: it expected to, and of no other pod
// of the same owner did it observe anything since the decision that it may have counted instead: that is before its request, which its client may hold back.
func (s *store) expected(first, again *importer.Told, of types.UID) bool {
	if first.Agent != again.Agent || !slices.ContainsFunc(waiting, func(controller string) bool { return isOf(again, controller) }) {
		return false
	}
	for event := range s.received("pods", again.Client) {
		other := s.known[types.UID(event.Object.UID)]
		if event.Object.UID == string(of) || event.Time < first.Call-int64(decision) || event.Time > again.Call || other == nil || other.going == 0 || event.RV < other.going {
			continue
		}
		for owner := range other.owners {
			if s.known[of].owners[owner] {
				return false
			}
		}
	}
	return true
}
