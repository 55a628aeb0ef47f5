package controlplane

import (
	"fmt"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// cronJobs records what rules about the jobs of cron jobs need to know of these.
type cronJobs struct {
	// replaces are those that have ever replaced unfinished jobs.
	replaces map[types.UID]bool
	// forbids is the revision since which one forbids concurrent jobs.
	forbids map[types.UID]int64
}

func (c cronJobs) apply(old, now object, rv int64) {
	before, after := both[batchv1.CronJob](old, now)
	if after == nil {
		return
	}
	switch policy := after.Spec.ConcurrencyPolicy; {
	case policy == batchv1.ReplaceConcurrent:
		c.replaces[after.UID] = true
		fallthrough
	case policy != batchv1.ForbidConcurrent:
		delete(c.forbids, after.UID)
	case before == nil || before.UID != after.UID || before.Spec.ConcurrencyPolicy != batchv1.ForbidConcurrent:
		c.forbids[after.UID] = rv
	}
}

// cronJobController is the cron job controller's name in its User-Agent.
const cronJobController = "cronjob-controller"

// forbidsTwo checks jobs that are created for cron jobs which forbid concurrent ones. It counts those that the controller had observed.
func forbidsTwo(s *store, key string, old, now object, rv int64) string {
	_, created := both[batchv1.Job](old, now)
	by := s.wrote[rv]
	if created == nil || old != nil || by == nil || !s.isBy(cronJobController, by) {
		return ""
	}
	owner := ownerOf(created)
	since, forbids := s.cronJobs.forbids[owner]
	if !forbids || !s.wasTold(by, cronJobsName, last{owner, since}) {
		return ""
	}
	for _, other := range slices.Sorted(maps.Keys(s.objects)) {
		job, is := s.objects[other].(*batchv1.Job)
		if is && ownerOf(job) == owner && finished(job) == "" && s.wasTold(by, "jobs.batch", last{job.UID, s.born[job.UID]}) {
			if !s.lists(owner, job.UID) && s.isFinding(45, cronJobsName, "a cron job that forbids concurrent jobs has begun one beside another one that its status does not list") {
				continue
			}
			return fmt.Sprintf("%s creates job %s, while job %s of the same cron job has not finished", by.Client, nameOf(key), nameOf(other))
		}
	}
	return ""
}

// lists reports whether the status of a cron job lists a job as active.
func (s *store) lists(cronJob, job types.UID) bool {
	for _, o := range s.objects {
		if c, is := o.(*batchv1.CronJob); is && c.UID == cronJob {
			return slices.ContainsFunc(c.Status.Active, func(ref corev1.ObjectReference) bool { return ref.UID == job })
		}
	}
	return false
}

// cronJobsName is the resource of cron jobs.
const cronJobsName = "cronjobs.batch"
