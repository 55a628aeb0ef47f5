// Finding 45: the CronJob controller is killed after it has created a Job, and before it has written that to the CronJob's status. The Job is not in
// status.active, so the next Job starts beside it, although concurrencyPolicy is Forbid or Replace.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/watchsim/watchsim/docs/findings/reproducers/crons"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// variant is a CronJob, and how its controller is lost.
type variant struct {
	space    string
	policy   batchv1.ConcurrencyPolicy
	deadline *int64
	// written is set if the controller is killed after it has written the status, and away is how long none runs then.
	written bool
	away    time.Duration
	// alive is set if it is not killed, but cannot write the status meanwhile.
	alive, shows bool
}

// failover is the default duration of the controller manager's lease.
const failover = 15 * time.Second

var (
	forbid, replace = batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent
	deadline        = new(int64(10))
)

var variants = []variant{
	{space: "forbid-status-written", policy: forbid, deadline: deadline, written: true, away: failover},
	{space: "replace-status-written", policy: replace, deadline: deadline, written: true, away: failover},
	{space: "forbid-without-deadline", policy: forbid, away: failover},
	{space: "forbid", policy: forbid, deadline: deadline, away: failover, shows: true},
	{space: "replace", policy: replace, deadline: deadline, away: failover, shows: true},
	{space: "forbid-without-deadline-past-the-minute", policy: forbid, away: 65 * time.Second, shows: true},
	{space: "forbid-status-not-written", policy: forbid, deadline: deadline, away: failover, alive: true, shows: true},
}

func main() {
	c := crons.Start()
	rig.Variants("a second Job of a CronJob runs although concurrencyPolicy is Forbid or Replace", variants, func(v variant) (string, bool, bool) { return v.space, v.shows, v.run(c) > 1 })
}

// run returns how many Jobs of the CronJob run at once, at most, until shortly after the second minute.
func (v variant) run(c *crons.Cluster) (most int) {
	c.Create(v.space, batchv1.CronJobSpec{Schedule: "* * * * *", ConcurrencyPolicy: v.policy, StartingDeadlineSeconds: v.deadline})
	first, kill := context.WithCancel(context.Background())
	defer kill()
	c.Control(first, v.space, rig.Wrap(v.loses()))
	job, how := c.Started(v.space), fmt.Sprintf("cannot write the status for %v", v.away)
	if !v.alive {
		kill()
		defer time.AfterFunc(v.away, func() { c.Control(context.Background(), v.space, nil) }).Stop()
		how = fmt.Sprintf("is killed, and another one runs after %v", v.away)
	}

	var names []string
	for end := time.Now().Add(max(time.Minute, v.away) + 5*time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var running []string
		for _, job := range c.Jobs(v.space) {
			if job.Status.Active > 0 {
				running = append(running, job.Name)
			}
		}
		if len(running) > most {
			most, names = len(running), running
		}
	}
	fmt.Printf("%s: the controller starts %s and %s: at most %d run at once %v, and status.active is %v\n", v.space, job.Name, how, most, names, c.Active(v.space))
	return most
}

// loses returns how the controller sends requests, and loses its connection.
func (v variant) loses() func(http.RoundTripper, *http.Request) (*http.Response, error) {
	var lost atomic.Pointer[time.Time]
	return func(inner http.RoundTripper, request *http.Request) (*http.Response, error) {
		resource := path.Base(request.URL.Path)
		if since := lost.Load(); since != nil && (!v.alive || resource == "status" && time.Since(*since) < v.away) {
			return nil, errors.New("connection refused")
		}
		response, err := inner.RoundTrip(request)
		if resource == "status" || resource == "jobs" && request.Method == http.MethodPost && !v.written {
			lost.CompareAndSwap(nil, new(time.Now()))
		}
		return response, err
	}
}
