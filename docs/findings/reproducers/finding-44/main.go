// Finding 44: an elastic Indexed Job never becomes Complete if its parallelism is changed before the Job controller has written the status that follows from
// scaling the Job down. The API server refuses the lower number of succeeded pods, as completions and parallelism differ by then.
package main

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/watchsim/watchsim/docs/findings/reproducers/jobs"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

func main() {
	c := jobs.Start()
	patiently := finishes(c, "patiently", true)
	rig.VerdictOfOne(patiently && !finishes(c, "at-once", false), "a Job that is scaled down, and whose parallelism is changed at once, does not finish")
}

// finishes scales a Job down to five indexes, of which only the last is not completed, and then lowers its parallelism, either at once or when its status
// follows. It reports whether the Job finishes when that index completes.
func finishes(c *jobs.Cluster, job string, patiently bool) bool {
	c.Create(job, 40, func(*batchv1.JobSpec) {})
	c.End(job, 0, "0", "1", "2", "3", "6", "7", "8", "9")
	c.Until(job, func(j *batchv1.Job) bool { return j.Status.Succeeded == 8 })

	c.Patch(job, `{"completions":5,"parallelism":5}`)
	follows := func() bool {
		after, follows := c.Until(job, func(j *batchv1.Job) bool { return j.Status.Succeeded == 4 })
		if follows {
			fmt.Printf("%s: scaled down: the status follows after %v: %s\n", job, after, c.Describe(job))
		}
		return follows
	}
	if patiently {
		follows()
	}
	c.Patch(job, `{"parallelism":1}`)
	if !patiently && !follows() {
		fmt.Printf("%s: scaled down: the status does not follow: %s\n", job, c.Describe(job))
	}

	c.End(job, 0, "4")
	after, finished := c.Until(job, jobs.Finished)
	if finished {
		fmt.Printf("%s: all indexes completed: finished after %v: %s\n", job, after, c.Describe(job))
		return true
	}
	fmt.Printf("%s: all indexes completed: not finished after %v: %s\n", job, after, c.Describe(job))
	c.Patch(job, `{"parallelism":5}`)
	if after, finished = c.Until(job, jobs.Finished); finished {
		fmt.Printf("%s: finished %v after its parallelism was set to its completions\n", job, after)
	}
	return false
}
