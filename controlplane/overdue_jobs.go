package controlplane

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
