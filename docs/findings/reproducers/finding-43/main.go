// Finding 43: a Job that meets its end condition while it is suspended becomes neither Complete nor Failed. The API server refuses a finished Job that has no
// startTime, and the Job controller removes that when it suspends a Job.
package main

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/watchsim/watchsim/docs/findings/reproducers/jobs"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// variant is a way in which a Job meets its end condition.
type variant struct {
	name        string
	completions int32
	spec        func(*batchv1.JobSpec)
	// before is what happens before the Job may be suspended, and change what is changed in its spec afterwards.
	before func(c *jobs.Cluster, job string)
	change string
}

var variants = []variant{
	{
		name: "scaled-down-to-completed-indexes", completions: 3, spec: func(*batchv1.JobSpec) {},
		before: func(c *jobs.Cluster, job string) {
			c.End(job, 0, "0", "1")
			c.Until(job, func(j *batchv1.Job) bool { return j.Status.Succeeded == 2 })
		},
		change: `{"completions":2,"parallelism":2}`,
	},
	{
		name: "backoff-limit-lowered", completions: 1, spec: func(*batchv1.JobSpec) {},
		before: func(c *jobs.Cluster, job string) {
			c.End(job, 1, "0")
			c.Until(job, func(j *batchv1.Job) bool { return j.Status.Failed == 1 })
		},
		change: `{"backoffLimit":0}`,
	},
	{
		name: "evicted-pod-fails", completions: 1,
		spec: func(s *batchv1.JobSpec) {
			s.BackoffLimit, s.PodReplacementPolicy = new(int32(0)), new(batchv1.Failed)
		},
		before: func(c *jobs.Cluster, job string) { c.Evict(job, "0") }, // it takes a while to fail
		change: `{}`,
	},
}

func main() {
	c := jobs.Start()
	rig.Variants("a suspended Job whose end condition is met does not finish", variants, func(v variant) (string, bool, bool) {
		return v.name, true, v.finishes(c, false) && !v.finishes(c, true)
	})
}

// finishes reports whether a Job finishes, be it suspended or not.
func (v variant) finishes(c *jobs.Cluster, suspended bool) bool {
	job := v.name
	if suspended {
		job += "-suspended"
	}
	c.Create(job, v.completions, v.spec)
	v.before(c, job)
	if suspended {
		c.Patch(job, `{"suspend":true}`)
		c.Until(job, func(j *batchv1.Job) bool { return jobs.Has(j, batchv1.JobSuspended) })
	}
	c.Patch(job, v.change)
	after, finished := c.Until(job, jobs.Finished)
	if finished {
		fmt.Printf("%s: finished after %v: %s\n", job, after, c.Describe(job))
		return true
	}
	fmt.Printf("%s: not finished after %v: %s\n", job, after, c.Describe(job))
	c.Patch(job, `{"suspend":false}`)
	if after, finished = c.Until(job, jobs.Finished); finished {
		fmt.Printf("%s: finished %v after it was resumed\n", job, after)
	}
	return false
}
