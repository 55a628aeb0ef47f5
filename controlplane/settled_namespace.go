package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// freeNamespaces deletes the jobs that keep their terminating namespaces for ever, as an administrator must: the namespace controller deletes nothing else before the pods
// are gone, the job controller does not let go of a failed pod of a job with backoffLimitPerIndex before it has replaced that, and nothing can be created any more (finding 42). It returns an
// error unless there were none.
func (s *state) freeNamespaces(ctx context.Context, client kubernetes.Interface) error {
	if fixed(42) {
		return nil
	}
	var errs []error
	for _, job := range s.jobs {
		if job.Spec.BackoffLimitPerIndex == nil || job.DeletionTimestamp != nil || finished(&job) != "" || !s.terminates(job.Namespace) {
			continue
		}
		if s.count(func(pod *corev1.Pod) bool {
			return ownerOf(pod) == job.UID && pod.DeletionTimestamp != nil && isOver(pod) && slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
		}) > 0 {
			err := client.BatchV1().Jobs(job.Namespace).Delete(ctx, job.Name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
			errs = append(errs, fmt.Errorf("job %s is deleted, as it keeps its namespace from being removed", describe(&job)), err)
		}
	}
	return errors.Join(errs...)
}

// terminates reports whether a namespace is being deleted.
func (s *state) terminates(namespace string) bool {
	return slices.ContainsFunc(s.namespaces, func(n corev1.Namespace) bool { return n.Name == namespace && n.DeletionTimestamp != nil })
}
