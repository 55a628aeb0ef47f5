package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// byHand does what somebody has to do by hand because of findings, unless their fixes are switched on. It returns an error unless there was nothing to do.
func (s *state) byHand(ctx context.Context, client kubernetes.Interface) error {
	var errs []error
	did := func(what string, job *batchv1.Job, err error) {
		errs = append(errs, fmt.Errorf("job %s is %s by hand", describe(job), what), err)
	}
	for _, job := range s.jobs {
		if finished(&job) != "" || job.DeletionTimestamp != nil {
			continue
		}
		jobs := client.BatchV1().Jobs(job.Namespace)
		switch {
		case !fixed(42) && s.keepsNamespace(&job):
			did("deleted", &job, jobs.Delete(ctx, job.Name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
		case !fixed(47) && s.overlaps(&job):
			did("deleted", &job, jobs.Delete(ctx, job.Name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
		case !fixed(43) && isDecided(&job) && ptr.Deref(job.Spec.Suspend, false):
			job.Spec.Suspend = new(false)
			_, err := jobs.Update(ctx, &job, metav1.UpdateOptions{})
			did("resumed", &job, err)
		case !fixed(44) && hasMoreIndexes(&job):
			job.Spec.Parallelism = job.Spec.Completions
			_, err := jobs.Update(ctx, &job, metav1.UpdateOptions{})
			did("given as much parallelism as completions", &job, err)
		}
	}
	for _, pod := range s.pods {
		if !fixed(50) && s.isForgotten(&pod) {
			pod.Finalizers = slices.DeleteFunc(pod.Finalizers, func(name string) bool { return name == batchv1.JobTrackingFinalizer })
			_, err := client.CoreV1().Pods(pod.Namespace).Update(ctx, &pod, metav1.UpdateOptions{})
			errs = append(errs, fmt.Errorf("pod %s loses its finalizer by hand", describe(&pod)), err)
		}
	}
	return errors.Join(errs...)
}

// isForgotten reports whether a pod that is being deleted keeps the finalizer of a job that is being deleted, too, or gone, and whose selector does not match it (finding 50): the job controller neither
// releases such a pod nor removes its finalizer.
func (s *state) isForgotten(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "Job" && pod.DeletionTimestamp != nil && slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) &&
		pod.Labels[batchv1.ControllerUidLabel] != string(owner.UID) &&
		!slices.ContainsFunc(s.jobs, func(job batchv1.Job) bool { return job.UID == owner.UID && job.DeletionTimestamp == nil })
}

// keepsNamespace reports whether a job keeps its terminating namespace for ever (finding 42): the namespace controller deletes nothing else before the pods are gone, the job controller
// does not let go of a failed pod of a job with backoffLimitPerIndex before it has replaced that, and nothing can be created any more.
func (s *state) keepsNamespace(job *batchv1.Job) bool {
	return job.Spec.BackoffLimitPerIndex != nil && s.terminates(job.Namespace) && s.count(func(pod *corev1.Pod) bool {
		return ownerOf(pod) == job.UID && pod.DeletionTimestamp != nil && isOver(pod) && slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
	}) > 0
}

// terminates reports whether a namespace is being deleted.
func (s *state) terminates(namespace string) bool {
	return slices.ContainsFunc(s.namespaces, func(n corev1.Namespace) bool { return n.Name == namespace && n.DeletionTimestamp != nil })
}

// isDecided reports whether a job's controller has decided that it is Complete or Failed, which must then follow. API servers refuse it for a job that is suspended (finding 43).
func isDecided(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobSuccessCriteriaMet || c.Type == batchv1.JobFailureTarget)
	})
}

// hasMoreIndexes reports whether the status of a job has indexes that its user no longer wants. API servers refuse to drop them unless its parallelism equals its completions (finding 44).
func hasMoreIndexes(job *batchv1.Job) bool {
	indexes := job.Status.CompletedIndexes
	last, err := strconv.Atoi(indexes[strings.LastIndexAny(indexes, ",-")+1:])
	return err == nil && job.Spec.Completions != nil && last >= int(*job.Spec.Completions) && ptr.Deref(job.Spec.Parallelism, 1) != *job.Spec.Completions
}

// overlaps reports whether the controller of a job would count an index as failed and as completed, which API servers refuse (finding 47): a pod of an index that has failed has succeeded.
func (s *state) overlaps(job *batchv1.Job) bool {
	return s.count(func(pod *corev1.Pod) bool {
		index, err := strconv.Atoi(pod.Annotations[batchv1.JobCompletionIndexAnnotation])
		return ownerOf(pod) == job.UID && err == nil && pod.Status.Phase == corev1.PodSucceeded &&
			slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) && hasIndex(ptr.Deref(job.Status.FailedIndexes, ""), index)
	}) > 0
}

// hasIndex reports whether a list of indexes such as 1,3-5 has an index.
func hasIndex(indexes string, index int) bool {
	return slices.ContainsFunc(strings.Split(indexes, ","), func(part string) bool {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if isRange {
			to, _ = strconv.Atoi(last)
		}
		return err == nil && from <= index && index <= to
	})
}
