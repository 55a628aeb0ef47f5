// Finding 46: the running Job of a CronJob is deleted and recreated under its name before the CronJob controller has noticed. It takes the new Job for the one in
// status.active, but does not notice that it finishes: with concurrencyPolicy Forbid, no Job starts any more.
package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchsim/watchsim/docs/findings/reproducers/crons"
	"github.com/watchsim/watchsim/docs/findings/reproducers/jobs"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	// away is how long no controller runs: the default duration of the controller manager's lease.
	away = 15 * time.Second
	// patient is how long the next Job may take to start; the CronJob starts one each minute.
	patient = 130 * time.Second
)

var ctx = context.Background()

// variant is a CronJob, and what becomes of its running Job.
type variant struct {
	space  string
	policy batchv1.ConcurrencyPolicy
	// renamed is set if the Job is recreated under another name, and stranger if it is recreated without its owner.
	renamed, stranger bool
	// running is set if the controller runs all the time, and slow is how long its reads of Jobs take.
	running bool
	slow    time.Duration
	shows   bool
}

var variants = []variant{
	{space: "forbid-renamed", policy: batchv1.ForbidConcurrent, renamed: true},
	{space: "forbid", policy: batchv1.ForbidConcurrent, shows: true},
	{space: "forbid-stranger", policy: batchv1.ForbidConcurrent, stranger: true, shows: true},
	{space: "forbid-running", policy: batchv1.ForbidConcurrent, running: true, shows: true}, // a race
	{space: "forbid-running-slowly", policy: batchv1.ForbidConcurrent, running: true, slow: 500 * time.Millisecond, shows: true},
	{space: "replace-stranger-renamed", policy: batchv1.ReplaceConcurrent, renamed: true, stranger: true},
	{space: "replace-stranger", policy: batchv1.ReplaceConcurrent, stranger: true, shows: true},
}

func main() {
	c := crons.Start()
	rig.Variants("a CronJob takes another Job for its own, and starts none any more or deletes it", variants, func(v variant) (string, bool, bool) { return v.space, v.shows, v.run(c) })
}

// run recreates the Job of a CronJob, and reports whether the CronJob is stuck or deletes a Job that is not its own.
func (v variant) run(c *crons.Cluster) bool {
	c.Create(v.space, batchv1.CronJobSpec{Schedule: "* * * * *", ConcurrencyPolicy: v.policy})
	first, stop := context.WithCancel(ctx)
	defer stop()
	c.Control(first, v.space, rig.Before(func(request *http.Request) {
		if request.Method == http.MethodGet && strings.Contains(request.URL.Path, "/jobs/") {
			time.Sleep(v.slow)
		}
	}))
	old := c.Started(v.space)
	rig.Until(func() bool { return len(c.Active(v.space)) == 1 })
	if !v.running {
		stop()
	}
	recreated := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: old.Name, OwnerReferences: old.OwnerReferences, Annotations: old.Annotations}, Spec: jobs.Spec(1, 1)}
	if v.renamed {
		recreated.Name = "recreated"
	}
	if v.stranger {
		recreated.OwnerReferences = nil
	}
	client := c.Client.BatchV1().Jobs(v.space)
	inBackground := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	rig.Delete(client, old.Name, inBackground)
	recreated = rig.Create(client, recreated)
	if !v.running {
		time.Sleep(away)
		c.Control(ctx, v.space, nil)
	}
	if v.policy == batchv1.ForbidConcurrent {
		c.Succeed(recreated)
	}

	began := time.Now()
	if c.Until(v.space, patient, func(all []batchv1.Job) bool {
		return slices.ContainsFunc(all, func(j batchv1.Job) bool { return j.UID != recreated.UID })
	}) {
		_, err := client.Get(ctx, recreated.Name, metav1.GetOptions{})
		fmt.Printf("%s: the next Job starts after %v, and status.active is %v; the other Job is deleted: %t\n", v.space, time.Since(began).Round(time.Second), c.Active(v.space), err != nil)
		return err != nil
	}
	fmt.Printf("%s: the other Job has finished, but none starts within %v, and status.active is %v\n", v.space, patient, c.Active(v.space))
	rig.Delete(client, recreated.Name, inBackground)
	began = time.Now()
	if c.Until(v.space, patient, func(all []batchv1.Job) bool { return len(all) > 0 }) {
		fmt.Printf("%s: the next Job starts %v after the other Job is deleted by hand\n", v.space, time.Since(began).Round(time.Second))
	}
	return true
}
