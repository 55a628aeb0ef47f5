package controlplane

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

func (s *state) deploymentsDone() error {
	for _, d := range s.deployments {
		if s.short(d.Namespace) || s.stuck(&d) {
			continue
		}
		want, is := ptr.Deref(d.Spec.Replicas, 1), d.Status
		if is.ObservedGeneration != d.Generation || is.Replicas != want || is.UpdatedReplicas != want || is.AvailableReplicas != want {
			return wrongf(&d, "deployment %s wants %d replicas at generation %d, and has %d, %d of them updated and %d available, at generation %d",
				describe(&d), want, d.Generation, is.Replicas, is.UpdatedReplicas, is.AvailableReplicas, is.ObservedGeneration)
		}
	}
	return nil
}

// stuck reports whether a deployment is one that its controller never rolls out: by the annotations of its replica sets, each sync is taken
// for a scaling event, and scale does nothing, as the only replica set that has pods has the desired size already
// (finding 32), or as several have pods and the strategy became Recreate (kubernetes/kubernetes #125568).
func (s *state) stuck(d *appsv1.Deployment) bool {
	want, total := ptr.Deref(d.Spec.Replicas, 1), int32(0)
	active, differ := 0, false
	for _, set := range s.sets {
		if replicas := ptr.Deref(set.Spec.Replicas, 1); ownerOf(&set) == d.UID && replicas > 0 {
			active, total = active+1, total+replicas
			differ = differ || set.Annotations["deployment.kubernetes.io/desired-replicas"] != strconv.Itoa(int(want))
		}
	}
	if active == 1 {
		return differ && total == want && !fixed(32)
	}
	return differ && active > 1 && d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType
}

func (s *state) setsDone() error {
	for _, r := range s.sets {
		if s.short(r.Namespace) {
			continue
		}
		living := int32(s.count(func(p *corev1.Pod) bool { return ownerOf(p) == r.UID && lives(p) }))
		if want := ptr.Deref(r.Spec.Replicas, 1); r.Status.Replicas != want || living != want {
			return wrongf(&r, "replica set %s wants %d replicas, says that it has %d, and has %d", describe(&r), want, r.Status.Replicas, living)
		}
	}
	return nil
}

func (s *state) statefulDone() error {
	for _, set := range s.stateful {
		if s.short(set.Namespace) {
			continue
		}
		want, is := ptr.Deref(set.Spec.Replicas, 1), set.Status
		if done := is.Replicas == want && is.ReadyReplicas == want && is.UpdateRevision == is.CurrentRevision; !done || is.ObservedGeneration != set.Generation {
			err := fmt.Errorf("stateful set %s wants %d replicas of one revision at generation %d, and has %d, %d of them ready, of %s and %s, at generation %d",
				describe(&set), want, set.Generation, is.Replicas, is.ReadyReplicas, is.CurrentRevision, is.UpdateRevision, is.ObservedGeneration)
			return wrong{error: err, of: &set, ahead: done && is.ObservedGeneration > set.Generation}
		}
	}
	return nil
}

func (s *state) daemonsDone() error {
	for _, d := range s.daemons {
		if s.short(d.Namespace) {
			continue
		}
		want := int32(0)
		for _, node := range s.nodes {
			if labels.SelectorFromSet(d.Spec.Template.Spec.NodeSelector).Matches(labels.Set(node.Labels)) {
				want++
			}
		}
		is := d.Status
		done := is.DesiredNumberScheduled == want && is.NumberReady == want && is.UpdatedNumberScheduled == want && is.NumberMisscheduled == 0
		if !done || is.ObservedGeneration != d.Generation {
			err := fmt.Errorf("daemon set %s is for %d nodes, and has %d ready and %d updated pods of %d, and %d where none belongs, at generation %d of %d", describe(&d), want, is.NumberReady,
				is.UpdatedNumberScheduled, is.DesiredNumberScheduled, is.NumberMisscheduled, is.ObservedGeneration, d.Generation)
			return wrong{error: err, of: &d, ahead: done && is.ObservedGeneration > d.Generation}
		}
	}
	return nil
}

// runs reports whether nothing keeps a job from finishing. One that was started by a controller manager whose clock was ahead cannot
// finish before that time: API servers accept no completionTime before startTime.
func (s *state) runs(job *batchv1.Job) bool {
	return !ptr.Deref(job.Spec.Suspend, false) && !s.short(job.Namespace) && (job.Status.StartTime == nil || !job.Status.StartTime.After(time.Now()))
}

// jobsBegin: a job gets its first pod. No pod has failed yet, so that there is no backoff.
func (s *state) jobsBegin() error {
	for _, job := range s.jobs {
		if s.runs(&job) && finished(&job) == "" && job.Status.Succeeded+job.Status.Failed == 0 && s.count(func(p *corev1.Pod) bool { return ownerOf(p) == job.UID }) == 0 {
			return wrongf(&job, "job %s has not begun: it has no pod, and none has ended", describe(&job))
		}
	}
	return nil
}

// jobsRest: a suspended job has no pods.
func (s *state) jobsRest() error {
	for _, job := range s.jobs {
		active := s.count(func(p *corev1.Pod) bool { return ownerOf(p) == job.UID && lives(p) })
		if ptr.Deref(job.Spec.Suspend, false) && finished(&job) == "" && active > 0 {
			return wrongf(&job, "job %s is suspended, and has %d pods", describe(&job), active)
		}
	}
	return nil
}

// jobsDone: jobs finish.
func (s *state) jobsDone() error {
	for _, job := range s.jobs {
		if !s.runs(&job) {
			continue
		}
		if finished(&job) == "" {
			return wrongf(&job, "job %s has not finished: %d active, %d succeeded, %d failed", describe(&job), job.Status.Active, job.Status.Succeeded, job.Status.Failed)
		}
		for _, pod := range s.pods {
			if ownerOf(&pod) == job.UID && (!isOver(&pod) || slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)) {
				return fmt.Errorf("job %s has finished, and its pod %s is %s with finalizers %q", describe(&job), pod.Name, pod.Status.Phase, pod.Finalizers)
			}
		}
	}
	return nil
}
