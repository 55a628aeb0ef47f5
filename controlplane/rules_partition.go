package controlplane

import (
	"fmt"
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces/importer"
)

// partitions records what a rule about partitions needs to know of stateful sets.
type partitions struct {
	// from are the revisions of the last pods that were created for a stateful set, by their names.
	from map[types.UID]map[string]string
	// moved is the resourceVersion that last changed the current revision of a stateful set.
	moved map[types.UID]int64
}

func (p partitions) apply(s *store, old, now object, rv int64) {
	if pod := s.createdFor("StatefulSet", old, now); pod != nil {
		if p.from[ownerOf(pod)] == nil {
			p.from[ownerOf(pod)] = map[string]string{}
		}
		p.from[ownerOf(pod)][pod.Name] = pod.Labels[appsv1.ControllerRevisionHashLabelKey]
	}
	before, after := both[appsv1.StatefulSet](old, now)
	if before != nil && after != nil && before.UID == after.UID && before.Status.CurrentRevision != after.Status.CurrentRevision {
		p.moved[after.UID] = rv
	}
}

// belowPartition checks each pod that is created for a stateful set whose partition has always been above the pod's ordinal, and which has always wanted
// that pod: it is created from the same revision as the last pod of its name.
func belowPartition(s *store, key string, old, now object, rv int64) string {
	pod := s.createdFor("StatefulSet", old, now)
	if pod == nil {
		return ""
	}
	was, is := s.partitions.from[ownerOf(pod)][pod.Name], pod.Labels[appsv1.ControllerRevisionHashLabelKey]
	if was == "" || was == is {
		return ""
	}
	for _, a := range s.rollouts.allows[ownerOf(pod)] {
		if n := ordinal(pod); n < a.start || n >= a.end || n >= a.first || a.first == math.MaxInt32 { // with OnDelete, pods are recreated from the latest revision
			return ""
		}
	}
	if s.lostRevision(pod.Namespace, was, ownerOf(pod)) {
		return ""
	}
	return fmt.Sprintf("pod %s, which is below the partition of its stateful set, is created from revision %s, and the last one was from %s", nameOf(key), is, was)
}

// revisionsName is the resource of controller revisions.
const revisionsName = "controllerrevisions.apps"

// lostRevision reports whether a stateful set may have lost its current revision: the controller deleted it after a failed write of another one (finding 38), or had not
// observed it when it made another one the current revision (finding 39).
func (s *store) lostRevision(namespace, name string, set types.UID) bool {
	revision := s.objects["/registry/controllerrevisions/"+namespace+"/"+name]
	if revision == nil {
		return slices.ContainsFunc(s.seen.Requests[revisionsName], func(request *importer.Told) bool {
			return request.Scope.Namespace == namespace && request.Err != model.OK && request.Kind != model.Get && isOf(request, statefulSetController)
		}) && s.isFinding(38, "statefulsets.apps", "a stateful set has deleted its current revision after a failed write of another one, and updates pods below its partition")
	}
	by := s.wrote[s.partitions.moved[set]]
	return by != nil && s.isBy(statefulSetController, by) && !s.wasTold(by, revisionsName, last{revision.GetUID(), s.born[revision.GetUID()]}) &&
		s.isFinding(39, "statefulsets.apps", "a stateful set has forgotten its current revision, which its controller had not observed, and updates pods below its partition")
}
