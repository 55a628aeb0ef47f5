package controlplane

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchsim/watchsim/model"
)

// keepsFinalizer reports whether an object is, or waits for, a pod that keeps the finalizer of a job, although its controller is another object: that adopted it
// before the job controller had removed the finalizer (finding 67).
func (s *store) keepsFinalizer(of metav1.Object) bool {
	for uid, k := range s.known {
		controller := controllerOf(k.pod)
		if k.gone != 0 || k.going == 0 || !slices.Contains(k.pod.Finalizers, batchv1.JobTrackingFinalizer) || controller.Kind == "" || controller.Kind == "Job" {
			continue
		}
		if space, is := of.(*corev1.Namespace); is && space.Name == k.pod.Namespace || of.GetUID() == uid || of.GetUID() == controller.UID || s.isOfDeployment(k.pod, of) {
			return true
		}
	}
	return false
}

// replacedInAList reports whether a controller manager had created a pod for a job, and no watch has told it that the job was deleted: it learned from a list
// that another one had its name, and the job controller takes that for an update (finding 69).
func (s *store) replacedInAList(of metav1.Object, told *told) bool {
	if _, is := of.(*batchv1.Job); !is {
		return false
	}
	watched := map[string]bool{}
	for event := range s.received(resourceOfKind(of), told.life) {
		watched[event.Object.UID] = watched[event.Object.UID] || event.Type == model.Deleted
	}
	for _, namesake := range s.namesakes(of) {
		if deleted, seen := watched[string(namesake)]; deleted || !seen {
			continue
		}
		for pod, k := range s.known {
			if by := s.created[pod]; k.owners[namesake] && by != nil && by.Client == told.life {
				return true
			}
		}
	}
	return false
}
