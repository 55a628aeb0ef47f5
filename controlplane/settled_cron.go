package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// A cron job of users begins a job each minute, and its controller may be a few seconds late.
const (
	period = time.Minute
	late   = 10 * time.Second
)

// cronJobsRun: a cron job has begun the last job that it should have, unless an earlier one, or the end of its namespace, keeps it from that.
func (s *state) cronJobsRun() error {
	for _, c := range s.crons {
		if ptr.Deref(c.Spec.Suspend, false) || s.ends(c.Namespace) || c.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent && len(s.unfinished(&c)) > 0 {
			continue
		}
		last := ptr.Deref(c.Status.LastScheduleTime, c.CreationTimestamp)
		if time.Since(last.Time) > period+late {
			return wrongf(&c, "cron job %s has begun no job since %s", describe(&c), last.UTC().Format(time.TimeOnly))
		}
	}
	return nil
}

// suspendCronJobs suspends all cron jobs, which would never let the control plane come to rest. It returns an error unless they were suspended already.
func (s *state) suspendCronJobs(ctx context.Context, client kubernetes.Interface) error {
	var errs []error
	for _, c := range s.crons {
		if !ptr.Deref(c.Spec.Suspend, false) {
			c.Spec.Suspend = new(true)
			_, err := client.BatchV1().CronJobs(c.Namespace).Update(ctx, &c, metav1.UpdateOptions{})
			errs = append(errs, fmt.Errorf("cron job %s is being suspended", describe(&c)), err)
		}
	}
	return errors.Join(errs...)
}

// cronJobsKnow: the status of a cron job lists its unfinished jobs, and the controller deletes the finished ones beyond the limits.
func (s *state) cronJobsKnow() error {
	for _, c := range s.crons {
		active := s.unfinished(&c)
		for _, ref := range c.Status.Active {
			if !active[ref.Name] {
				return wrongf(&c, "cron job %s lists job %s as active, which is not", describe(&c), ref.Name)
			}
			delete(active, ref.Name)
		}
		for name := range active {
			return wrongf(&c, "cron job %s does not list job %s as active", describe(&c), name)
		}
		for how, limit := range map[batchv1.JobConditionType]*int32{batchv1.JobComplete: c.Spec.SuccessfulJobsHistoryLimit, batchv1.JobFailed: c.Spec.FailedJobsHistoryLimit} {
			kept := int32(0)
			for _, job := range s.jobs {
				if ownerOf(&job) == c.UID && finished(&job) == how {
					kept++
				}
			}
			if limit != nil && kept > *limit {
				return wrongf(&c, "cron job %s keeps %d %s jobs, and should keep %d", describe(&c), kept, how, *limit)
			}
		}
	}
	return nil
}

// unfinished returns the names of the unfinished jobs of a cron job.
func (s *state) unfinished(c *batchv1.CronJob) map[string]bool {
	all := map[string]bool{}
	for _, job := range s.jobs {
		if ownerOf(&job) == c.UID && finished(&job) == "" {
			all[job.Name] = true
		}
	}
	return all
}
