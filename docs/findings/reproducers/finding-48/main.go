// Finding 48: the Job controller forgets that a pod failure policy fails a Job if it cannot delete one of the Job's running pods. It lets the failed pod go, by
// which it would know that when it tries again, and the Job goes on.
package main

import (
	"fmt"
	"net/http"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/watchsim/watchsim/docs/findings/reproducers/jobs"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// policy is the first rule of the documentation's example.
var policy = batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
	Action:      batchv1.PodFailurePolicyActionFailJob,
	OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42}},
}}}

func main() {
	c := jobs.Start()
	control := fails(c, "running-pod-deleted")
	c.Fail(http.MethodDelete, "deletion-fails-once")
	rig.VerdictOfOne(control && !fails(c, "deletion-fails-once"), "a Job goes on although a pod has failed with a code for which its policy fails the Job")
}

// fails evicts one of two pods, which then exits with 42, and reports whether the Job fails. If it does not, its pods exit with 0 from then on.
func fails(c *jobs.Cluster, job string) bool {
	c.Create(job, 2, func(s *batchv1.JobSpec) { s.PodFailurePolicy = &policy })
	c.Evict(job, "0")
	c.End(job, 42, "0")
	replaced := func(j *batchv1.Job) bool { return j.Status.Failed == 1 && !c.Deleted(job, "0") }
	after, _ := c.Until(job, func(j *batchv1.Job) bool { return jobs.Finished(j) || replaced(j) })
	if j := c.Job(job); !jobs.Finished(j) {
		fmt.Printf("%s: not failed after %v, and the pod that exited with 42 is replaced: %v\n", job, after, replaced(j))
		c.End(job, 0, "0", "1")
		after, _ = c.Until(job, jobs.Finished)
	}
	fmt.Printf("%s: finished after %v: %s\n", job, after, c.Describe(job))
	return jobs.Has(c.Job(job), batchv1.JobFailed)
}
