package controlplane

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func (s *state) deploymentsDone() error {
	for _, d := range s.deployments {
		if s.short(d.Namespace) || s.stuck(&d) {
			continue
		}
		want, is := ptr.Deref(d.Spec.Replicas, 1), d.Status
		done := d.Spec.Paused || is.Replicas == want && is.UpdatedReplicas == want && is.AvailableReplicas == want // a paused one does not roll out
		if !done || is.ObservedGeneration != d.Generation {
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

// templatesRun: once a rollout is complete, the pods of a deployment, a stateful set or a daemon set run the image of its template, as far as its strategy asks for that.
// Pods that a daemon set takes for updated because their template had the same generation as its own, in a deleted daemon set, are finding 40.
func (s *state) templatesRun() error {
	wanted := map[types.UID]string{}
	first := map[types.UID]int32{}
	for _, d := range s.deployments {
		for _, set := range s.sets {
			if ownerOf(&set) == d.UID && !d.Spec.Paused && !s.stuck(&d) && !s.short(d.Namespace) {
				wanted[set.UID] = image(&d.Spec.Template.Spec)
			}
		}
	}
	for _, set := range s.stateful {
		if a := statefulAllowance(&set); !s.short(set.Namespace) {
			wanted[set.UID], first[set.UID] = image(&set.Spec.Template.Spec), a.first
		}
	}
	generations := map[types.UID]string{}
	for _, d := range s.daemons {
		if d.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType && !s.short(d.Namespace) {
			wanted[d.UID], generations[d.UID] = image(&d.Spec.Template.Spec), d.Annotations[appsv1.DeprecatedTemplateGeneration]
		}
	}
	for _, pod := range s.pods {
		owner := ownerOf(&pod)
		runs := image(&pod.Spec)
		if wanted[owner] == "" || wanted[owner] == runs || isOver(&pod) || ordinal(&pod) < first[owner] {
			continue
		}
		if ownerKind(&pod) == "DaemonSet" && cmp.Or(pod.Spec.NodeName, wantedNode(&pod)) == "" {
			continue // it was adopted, and waits for a claim: daemon sets replace the pods of a node
		}
		if generation := generations[owner]; generation != "" && pod.Labels[podTemplateGeneration] == generation && !fixed(40) {
			continue
		}
		return wrongf(&pod, "pod %s of %s %s runs image %q, and its template says %q", describe(&pod), ownerKind(&pod), controllerOf(&pod).Name, runs, wanted[owner])
	}
	return nil
}

// podTemplateGeneration is the label of a daemon set's pod with the generation of its template.
const podTemplateGeneration = "pod-template-generation"

// image returns the image of a pod's first container, "" for none.
func image(spec *corev1.PodSpec) string {
	if len(spec.Containers) == 0 {
		return ""
	}
	return spec.Containers[0].Image
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
		a := statefulAllowance(&set)
		updated := max(a.end-max(a.first, a.start), 0) // as far as the update strategy asks for it
		done := is.Replicas == want && is.AvailableReplicas == want && is.UpdatedReplicas >= updated && (updated < want || is.UpdateRevision == is.CurrentRevision)
		if !done || is.ObservedGeneration != set.Generation {
			err := fmt.Errorf("stateful set %s wants %d replicas, %d of them updated, at generation %d, and has %d, %d of them available and %d updated, of %s and %s, at generation %d",
				describe(&set), want, updated, set.Generation, is.Replicas, is.AvailableReplicas, is.UpdatedReplicas, is.CurrentRevision, is.UpdateRevision, is.ObservedGeneration)
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
		updated := is.UpdatedNumberScheduled == want || d.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType
		done := is.DesiredNumberScheduled == want && is.NumberAvailable == want && updated && is.NumberMisscheduled == 0
		if !done || is.ObservedGeneration != d.Generation {
			err := fmt.Errorf("daemon set %s is for %d nodes, and has %d available and %d updated pods of %d, and %d where none belongs, at generation %d of %d", describe(&d), want, is.NumberAvailable,
				is.UpdatedNumberScheduled, is.DesiredNumberScheduled, is.NumberMisscheduled, is.ObservedGeneration, d.Generation)
			return wrong{error: err, of: &d, ahead: done && is.ObservedGeneration > d.Generation}
		}
	}
	return nil
}

// rests reports whether a job's user wants no pods of it.
func rests(job *batchv1.Job) bool {
	return ptr.Deref(job.Spec.Suspend, false) || ptr.Deref(job.Spec.Parallelism, 1) == 0
}

// runs reports whether nothing keeps a job from finishing. One that was started by a controller manager whose clock was ahead cannot
// finish before that time: API servers accept no completionTime before startTime.
func (s *state) runs(job *batchv1.Job) bool {
	return !rests(job) && !s.short(job.Namespace) && !startsLater(job) && !s.ignoresFailures(job)
}

// ignoresFailures reports whether more pods of a job have failed than it allows, as its pod failure policy ignores some. Those do not count, but the backoff
// grows with them, up to ten minutes (MaxJobPodFailureBackOff).
func (s *state) ignoresFailures(job *batchv1.Job) bool {
	return job.Spec.PodFailurePolicy != nil && s.count(func(p *corev1.Pod) bool { return ownerOf(p) == job.UID && p.Status.Phase == corev1.PodFailed }) > int(ptr.Deref(job.Spec.BackoffLimit, 6))
}

func startsLater(job *batchv1.Job) bool {
	return job.Status.StartTime != nil && job.Status.StartTime.After(time.Now())
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

// jobsRest: a suspended job, and one whose parallelism is 0, has no pods.
func (s *state) jobsRest() error {
	for _, job := range s.jobs {
		active := s.count(func(p *corev1.Pod) bool { return ownerOf(p) == job.UID && lives(p) })
		if rests(&job) && finished(&job) == "" && active > 0 {
			return wrongf(&job, "job %s is suspended or has parallelism 0, and has %d pods", describe(&job), active)
		}
	}
	return nil
}

// jobsDone: jobs finish.
func (s *state) jobsDone() error {
	for _, job := range s.jobs {
		if !s.runs(&job) && (!isDecided(&job) || startsLater(&job)) {
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
