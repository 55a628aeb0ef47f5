// Finding 47: a Job with backoffLimitPerIndex does not finish if a terminating pod exits with 0 after the Job controller has counted it as failed, and before it
// has removed the pod's finalizer. It then adds the pod's index to completedIndexes as well, and the API server refuses a status in which the two overlap.
package main

import (
	"fmt"
	"net/http"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"github.com/watchsim/watchsim/docs/findings/reproducers/jobs"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

func main() {
	c := jobs.Start()
	control := finishes(c, "finalizer-removed")
	c.Fail(http.MethodPatch, "removal-fails-once")
	rig.VerdictOfOne(control && !finishes(c, "removal-fails-once"), "a Job of which a terminating pod exits with 0 does not finish")
}

// finishes evicts a pod that exits with 0 once its index has failed, and then has the pod of index 1 exit with 0, and then that of index 2 if it still runs. It
// reports whether the Job finishes.
func finishes(c *jobs.Cluster, job string) bool {
	c.Create(job, 3, func(s *batchv1.JobSpec) { s.BackoffLimitPerIndex = new(int32(0)) })
	c.Evict(job, "0")
	c.Until(job, func(j *batchv1.Job) bool { return ptr.Deref(j.Status.FailedIndexes, "") == "0" })
	c.End(job, 0, "0")

	c.End(job, 0, "1")
	c.Until(job, func(j *batchv1.Job) bool { return j.Status.Succeeded == 1 || c.Deleted(job, "2") })
	if c.Deleted(job, "2") {
		fmt.Printf("%s: index 1 completed: the running pod of index 2 is deleted: %s\n", job, c.Describe(job))
	} else {
		fmt.Printf("%s: index 1 completed: the pod of index 2 runs on: %s\n", job, c.Describe(job))
		c.End(job, 0, "2")
	}

	after, finished := c.Until(job, jobs.Finished)
	if finished {
		fmt.Printf("%s: finished after %v: %s\n", job, after, c.Describe(job))
		return true
	}
	fmt.Printf("%s: not finished after %v: %s\n", job, after, c.Describe(job))
	c.Release(job, "0")
	if after, finished = c.Until(job, jobs.Finished); finished {
		fmt.Printf("%s: finished %v after the finalizer was removed by hand: %s\n", job, after, c.Describe(job))
	}
	return false
}
