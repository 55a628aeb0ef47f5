// Finding 49: a CronJob misses two runs that are closer together than the last one and now. It starts none of them, although it has no deadline: the CronJob
// controller looks for the last run only where one would be if the schedule were even.
package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // as kube-controller-manager has it

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchsim/watchsim/docs/findings/reproducers/crons"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// patient is how long a missed run may take to start; it takes milliseconds.
const patient = 15 * time.Second

// variant is a CronJob that misses runs: while it is suspended, while its previous Job runs if it forbids a second one, or otherwise while no controller runs.
type variant struct {
	space string
	spec  batchv1.CronJobSpec
	// last is the last run before those, if it is in the past, and end is when the CronJob may start Jobs again.
	last, end time.Time
	shows     bool
}

// variants returns some that miss runs within the next minutes, and some with usual schedules that have missed their last two.
func variants() []variant {
	first := time.Now().Add(10 * time.Second).Truncate(time.Minute).Add(time.Minute)
	minute := func(n int) time.Time { return first.Add(time.Duration(n) * time.Minute) }
	at := func(n ...int) string {
		var minutes []string
		for _, n := range n {
			minutes = append(minutes, fmt.Sprint(minute(n).Minute()))
		}
		return strings.Join(minutes, ",") + " * * * *"
	}
	soon, late := minute(2).Add(50*time.Second), minute(3).Add(5*time.Second)
	forbid := batchv1.ForbidConcurrent
	all := []variant{
		{space: "two-missed-sooner", spec: batchv1.CronJobSpec{Schedule: at(1, 2)}, end: soon},
		{space: "one-missed", spec: batchv1.CronJobSpec{Schedule: at(2)}, end: late},
		{space: "two-missed", spec: batchv1.CronJobSpec{Schedule: at(1, 2)}, end: late, shows: true},
		{space: "suspended-one-missed", spec: batchv1.CronJobSpec{Schedule: at(2), Suspend: new(true)}, end: late},
		{space: "suspended-two-missed", spec: batchv1.CronJobSpec{Schedule: at(1, 2), Suspend: new(true)}, end: late, shows: true},
		{space: "forbid-one-missed", spec: batchv1.CronJobSpec{Schedule: at(0, 2), ConcurrencyPolicy: forbid}, end: late},
		{space: "forbid-two-missed", spec: batchv1.CronJobSpec{Schedule: at(0, 1, 2), ConcurrencyPolicy: forbid}, end: late, shows: true},
	}

	// There is a zone where it is between 20:00 and 21:00.
	offset := 20 - time.Now().UTC().Hour()
	if offset > 14 {
		offset -= 24
	}
	zone := fmt.Sprintf("Etc/GMT%+d", -offset) // the sign is that of POSIX
	location := rig.Value(time.LoadLocation(zone))
	year, month, day := time.Now().In(location).Date()
	usual := func(space, schedule string, daysAgo, hour, minute int, shows bool) {
		last := time.Date(year, month, day-daysAgo, hour, minute, 0, 0, location)
		all = append(all, variant{space: space, spec: batchv1.CronJobSpec{Schedule: schedule, TimeZone: &zone}, last: last, shows: shows})
	}
	usual("hourly", "0 * * * *", 0, 18, 0, false)
	usual("nightly", "0 2 * * *", 2, 2, 0, false)
	usual("hourly-by-day", "0 9-17 * * *", 0, 15, 0, true)
	usual("quarter-hourly-by-day", "*/15 9-17 * * *", 0, 17, 15, true)
	usual("nightly-twice", "0,30 2 * * *", 1, 2, 30, true)
	return all
}

func main() {
	c := crons.Start()
	rig.Variants("a CronJob without a deadline starts none of the runs that it has missed", variants(), func(v variant) (string, bool, bool) { return v.space, v.shows, !v.run(c) })
}

// run lets the CronJob miss its runs, and reports whether it starts a Job then.
func (v variant) run(c *crons.Cluster) bool {
	client := c.Client.BatchV1().CronJobs(v.space)
	cron := c.Create(v.space, v.spec)
	if !v.last.IsZero() {
		cron.Status.LastScheduleTime = new(metav1.NewTime(v.last))
		rig.UpdateStatus(client, cron)
	}
	how, begin := "the controller is back", func() { c.Control(context.Background(), v.space, nil) }
	var before []batchv1.Job
	switch {
	case v.spec.Suspend != nil:
		begin()
		how, begin = "resumed", func() {
			cron.Spec.Suspend = nil
			rig.Update(client, cron)
		}
	case v.spec.ConcurrencyPolicy != "":
		begin()
		before = append(before, *c.Started(v.space))
		how, begin = "the previous Job ends", func() { c.Succeed(&before[0]) }
	}
	time.Sleep(time.Until(v.end))
	at := time.Now()
	begin()

	what := fmt.Sprintf("no Job starts within %v", patient)
	started := c.Until(v.space, patient, func(now []batchv1.Job) bool {
		now = slices.DeleteFunc(now, func(job batchv1.Job) bool { return len(before) > 0 && job.UID == before[0].UID })
		if len(now) > 0 {
			scheduled := rig.Value(time.Parse(time.RFC3339, now[0].Annotations[batchv1.CronJobScheduledTimestampAnnotation]))
			what = "the Job of " + scheduled.Format("15:04") + " starts"
		}
		return len(now) > 0
	})
	if !v.last.IsZero() {
		at = at.In(v.last.Location())
	}
	fmt.Printf("%s: schedule %s, %s at %s: %s\n", v.space, v.spec.Schedule, how, at.Format("15:04"), what)
	return started
}
