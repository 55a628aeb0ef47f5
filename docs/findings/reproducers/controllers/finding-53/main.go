// Finding 53: a new leader of JobSet, whose watch of jobs is late, deletes jobs of the present attempt as those of an earlier one, and
// creates jobs although BlockingRecreate has to wait for others of the earlier attempt.
package main

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	api "sigs.k8s.io/jobset/api/jobset/v1alpha2"

	"github.com/watchsim/watchsim/docs/findings/reproducers/controllers/jobsets"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// late is the delay of the second replica's watch of jobs.
const late = 10 * time.Second

var ctx = context.Background()

func main() {
	config, c := jobsets.Start()
	seen := 0
	for _, lag := range []time.Duration{0, late} {
		kept, blocked := recreate(config, c, lag), blockingRecreate(config, c, lag)
		fmt.Printf("watch of jobs %v late: Recreate: the running jobs are kept: %t; BlockingRecreate: job r waits for job s: %t\n", lag, kept, blocked)
		if lag > 0 && !kept {
			seen++
		}
		if lag > 0 && !blocked {
			seen++
		}
	}
	rig.Verdict(seen, 2, "a new leader deletes running jobs, or does not wait for those of the earlier attempt")
}

// recreate restarts a JobSet, changes the leader once its jobs run again, and reports whether they are kept.
func recreate(config *rest.Config, c client.Client, lag time.Duration) bool {
	name := fmt.Sprintf("recreate-%d", lag/time.Second)
	first, second := replicas(config, lag)
	defer second()
	set := restart(c, name, api.Recreate)
	jobsets.Collect(c, name+"-r-0")
	jobsets.Collect(c, name+"-s-0")
	for _, job := range []string{name + "-r-0", name + "-s-0"} {
		rig.Until(func() bool { return attempt(jobsets.Get(c, job)) == "1" })
	}
	first()
	time.Sleep(late + 5*time.Second)
	rig.Must(c.Get(ctx, client.ObjectKeyFromObject(set), set))
	kept := true
	for _, job := range []string{name + "-r-0", name + "-s-0"} {
		j := jobsets.Get(c, job)
		if j == nil || j.DeletionTimestamp != nil {
			fmt.Printf("    job %s of attempt %s is deleted, and status.restarts is %d\n", job, attempt(j), set.Status.Restarts)
			kept = false
		}
	}
	return kept
}

// blockingRecreate restarts a JobSet, changes the leader while one of its jobs still exists, and reports whether the other one is not
// created.
func blockingRecreate(config *rest.Config, c client.Client, lag time.Duration) bool {
	name := fmt.Sprintf("blocking-%d", lag/time.Second)
	first, second := replicas(config, lag)
	defer second()
	restart(c, name, api.BlockingRecreate)
	jobsets.Collect(c, name+"-r-0")
	rig.Until(func() bool { return jobsets.Get(c, name+"-s-0").DeletionTimestamp != nil }) // its pod takes long to end
	first()
	time.Sleep(late)
	r, s := jobsets.Get(c, name+"-r-0"), jobsets.Get(c, name+"-s-0")
	if r != nil {
		fmt.Printf("    job %s of attempt %s is created, and job %s of attempt %s exists\n", r.Name, attempt(r), s.Name, attempt(s))
	}
	return r == nil
}

// replicas runs two replicas, of which the first leads and the second has a watch of jobs that is late. They return what stops them.
func replicas(config *rest.Config, lag time.Duration) (first, second func()) {
	first = jobsets.Run(config, "jobs", 0)
	time.Sleep(5 * time.Second) // it leads
	second = jobsets.Run(config, "jobs", lag)
	return first, second
}

// restart creates a JobSet with the jobs r and s, and lets r fail, so that it restarts.
func restart(c client.Client, name string, strategy api.JobSetRestartStrategy) *api.JobSet {
	set := jobsets.New(name, "r", "s")
	set.Spec.FailurePolicy = &api.FailurePolicy{MaxRestarts: 2, RestartStrategy: strategy}
	rig.Must(c.Create(ctx, set))
	rig.Until(func() bool { return jobsets.Get(c, name+"-s-0") != nil })
	jobsets.Finish(c, name+"-r-0", batchv1.JobFailed)
	return set
}

func attempt(job *batchv1.Job) string {
	if job == nil {
		return ""
	}
	return job.Labels[jobsets.Attempt]
}
