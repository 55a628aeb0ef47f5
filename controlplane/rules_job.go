package controlplane

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces/importer"
)

// noExtraWork checks each pod that is created for a job.
func noExtraWork(s *store, key string, old, now object, rv int64) string {
	pod := s.createdFor("Job", old, now)
	if pod == nil {
		return ""
	}
	broken := s.moreThanAsked("Job", "a job", key, old, now, rv)
	if index := pod.Annotations[batchv1.JobCompletionIndexAnnotation]; index != "" {
		for _, other := range s.siblings(pod, rv) {
			if s.byOwner[ownerOf(pod)][other].Annotations[batchv1.JobCompletionIndexAnnotation] == index {
				broken = fmt.Sprintf("pod %s is created for index %s of a job, for which pod %s lives", nameOf(key), index, nameOf(other))
			}
		}
	}
	if broken != "" && s.succeeds(pod) && s.isFinding(64, "pods", "a job controller has forgotten what it wrote for a job when it released a pod of the job's predecessor, and has created a pod too many") {
		return ""
	}
	return broken
}

// succeeds reports whether the job of a pod has been recreated under its name, and pods of its predecessor still existed then.
func (s *store) succeeds(pod *corev1.Pod) bool {
	job := controllerOf(pod)
	for _, k := range s.known {
		before := controllerOf(k.pod)
		if k.pod.Namespace == pod.Namespace && before.Kind == job.Kind && before.Name == job.Name && before.UID != job.UID && (k.gone == 0 || k.gone > s.born[job.UID]) {
			return true
		}
	}
	return false
}

func jobIsOver(s *store, key string, old, now object, rv int64) string {
	pod := s.createdFor("Job", old, now)
	if pod == nil {
		return ""
	}
	for other, o := range s.objects {
		if job, is := o.(*batchv1.Job); is && job.UID == ownerOf(pod) && finished(job) != "" && s.knew(rv, "jobs.batch", s.finished[job.UID]) {
			return fmt.Sprintf("pod %s is created for job %s, which is %s", nameOf(key), nameOf(other), finished(job))
		}
	}
	return ""
}

// end returns the condition that says how and when a job finished; nil if it has not.
func end(job *batchv1.Job) *batchv1.JobCondition {
	i := slices.IndexFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
	})
	if i < 0 {
		return nil
	}
	return &job.Status.Conditions[i]
}

// finished returns whether a job is Complete or Failed, "" if it has not finished.
func finished(job *batchv1.Job) batchv1.JobConditionType {
	if how := end(job); how != nil {
		return how.Type
	}
	return ""
}

func jobCounts(s *store, key string, old, now object, _ int64) string {
	before, after := both[batchv1.Job](old, now)
	if after == nil {
		return ""
	}
	if s.elastic[after.UID] || before != nil && before.UID == after.UID && !reflect.DeepEqual(before.Spec.Completions, after.Spec.Completions) {
		return "" // fewer completions drop the successes of indexes that are no longer wanted
	}
	if wanted := after.Spec.Completions; wanted != nil && after.Status.Succeeded > *wanted {
		return fmt.Sprintf("job %s counts %d successes of %d", nameOf(key), after.Status.Succeeded, *wanted)
	}
	if succeeded, failed := s.endedOf(after.UID); after.Status.Succeeded > succeeded || after.Status.Failed > failed {
		return fmt.Sprintf("job %s counts %d successes and %d failures, but %d of its pods have succeeded and %d have failed or were deleted", nameOf(key),
			after.Status.Succeeded, after.Status.Failed, succeeded, failed)
	}
	if before != nil && before.UID == after.UID && (after.Status.Succeeded < before.Status.Succeeded || after.Status.Failed < before.Status.Failed) {
		return fmt.Sprintf("job %s counted %d successes and %d failures, and now %d and %d", nameOf(key),
			before.Status.Succeeded, before.Status.Failed, after.Status.Succeeded, after.Status.Failed)
	}
	return ""
}

// suspendedRests checks the status of jobs that the job controller has just suspended: active pods mean that it has not
// deleted them.
func suspendedRests(s *store, key string, old, now object, rv int64) string {
	before, after := both[batchv1.Job](old, now)
	by := s.wrote[rv]
	if after == nil || by == nil || !s.isBy(jobController, by) || !isSuspended(after) || before != nil && before.UID == after.UID && isSuspended(before) {
		return ""
	}
	if after.Status.Active == 0 || s.hasFailedWith(by, after) {
		return ""
	}
	return fmt.Sprintf("%s has suspended job %s, and says that %d of its pods are active", by.Client, nameOf(key), after.Status.Active)
}

// jobController is the job controller's name in its User-Agent.
const jobController = "job-controller"

func isSuspended(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobSuspended && c.Status == corev1.ConditionTrue
	})
}

// hasFailedWith reports whether an earlier request of a client for a pod of a job has failed, or its outcome is unknown.
func (s *store) hasFailedWith(by *model.Operation, job *batchv1.Job) bool {
	names := map[string]bool{}
	for _, k := range s.known {
		if k.owners[job.UID] {
			names[k.pod.Name] = true
		}
	}
	return slices.ContainsFunc(s.seen.Requests["pods"], func(request *importer.Told) bool {
		return request.Client == by.Client && request.Call < by.Call && (request.Kind == model.Delete || request.Kind == model.Update) &&
			request.Scope.Namespace == job.Namespace && names[request.Scope.Name] && request.Err != model.OK && request.Err != model.NotFound
	})
}

// jobIsKept checks deletions by controller managers. Users may delete jobs, their cron jobs, and
// namespaces with jobs in them, at any time. The TTL controller reads a job before it deletes it.
func jobIsKept(s *store, key string, old, now object, rv int64) string {
	before := deleting[batchv1.Job](old, now)
	by := s.deletedBy(rv)
	if before == nil || by == nil || !strings.HasPrefix(by.Client, managerName) {
		return ""
	}
	in, _, _ := strings.Cut(nameOf(key), "/")
	if space, _ := s.objects[namespaces+in].(*corev1.Namespace); space != nil && space.DeletionTimestamp != nil {
		return ""
	}
	switch {
	case s.isBy(garbageCollector, by) && ownerOf(before) != "": // as OwnedIsKept checks
		return ""
	case finished(before) == "" && !(s.isBy(cronJobController, by) && s.cronJobs.replaces[ownerOf(before)]):
		return fmt.Sprintf("%s deletes job %s, which has not finished", by.Client, nameOf(key))
	case !s.isBy(timeToLiveController, by) || s.hasReadBefore(by, s.limited[before.UID]):
		return ""
	case before.Spec.TTLSecondsAfterFinished == nil:
		return fmt.Sprintf("%s deletes job %s, which has no TTL", by.Client, nameOf(key))
	}
	ends := end(before).LastTransitionTime.Add(time.Duration(*before.Spec.TTLSecondsAfterFinished) * time.Second) // by the clock of the job controller
	if early := ends.Sub(time.Unix(0, s.seen.Epoch+by.Call)); early > 0 && !s.clocksJump() {
		return fmt.Sprintf("%s deletes job %s %v before its TTL has ended", by.Client, nameOf(key), early.Round(time.Millisecond))
	}
	return ""
}

// timeToLiveController is the name of the TTL controller in its User-Agent.
const timeToLiveController = "ttl-after-finished-controller"

// hasReadBefore reports whether the object that a client changes was older than a revision when the client last read it.
func (s *store) hasReadBefore(by *model.Operation, rv int64) bool {
	at := s.requests[requestOf{by.Client, by.Call, by.Scope}]
	for _, request := range slices.Backward(at.all[:at.at]) {
		if request.Client == by.Client && request.Kind == model.Get && request.Scope == by.Scope && request.Agent == at.all[at.at].Agent && request.Err == model.OK {
			return len(request.Op.Objects) == 1 && request.Op.Objects[0].RV < rv
		}
	}
	return false
}
