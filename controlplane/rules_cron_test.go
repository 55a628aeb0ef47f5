package controlplane_test

import (
	"strings"
	"testing"
)

// A job of a cron job is created or deleted while another one runs.
func TestJobsOfCronJobs(t *testing.T) {
	cron := func(policy string) string {
		return `user kubectl cronjobs/r/c {"apiVersion":"batch/v1","kind":"CronJob","metadata":{"uid":"c"},"spec":{"concurrencyPolicy":"` + policy + "\"}}\n"
	}
	of := func(uid, status string) string {
		return "jobs/r/" + uid + " " + strings.Replace(job(status), `"uid":"j"`, `"uid":"`+uid+`"`+owned("CronJob", "c"), 1) + "\n"
	}
	const controller, user = "manager-0 cronjob-controller ", "user kubectl "
	const complete = `"conditions":[{"type":"Complete","status":"True"}]`
	forbid, allow, replace := cron("Forbid"), cron("Allow"), cron("Replace")
	listed := strings.Replace(strings.Replace(forbid, "user kubectl ", controller, 1), `"spec"`, `"status":{"active":[{"uid":"a"}]},"spec"`, 1)
	first, second, removed := controller+of("a", ""), controller+of("b", ""), controller+"jobs/r/a -\n"
	for name, row := range map[string]struct{ lines, rule string }{
		"the first job":                     {forbid + first, ""},
		"two jobs":                          {forbid + first + listed + second, "ForbidsTwo"},
		"two jobs, the first is not listed": {forbid + first + second, ""},
		"two jobs, another one is listed":   {forbid + first + strings.Replace(listed, `"uid":"a"`, `"uid":"x"`, 1) + second, ""},
		"two jobs that are allowed":         {allow + first + second, ""},
		"forbidden since":                   {allow + forbid + first + listed + second, "ForbidsTwo"},
		"forbidden since, not observed":     {allow + "!" + forbid + first + second, ""},
		"forbidden before":                  {forbid + allow + first + second, ""},
		"changed while forbidden":           {forbid + "!" + forbid + first + listed + second, "ForbidsTwo"},
		"another cron job forbids":          {strings.Replace(forbid, `"uid":"c"`, `"uid":"d"`, 1) + first + second, ""},
		"the first job has finished":        {forbid + first + listed + user + of("a", complete) + second, ""},
		"the first job was not observed":    {forbid + "!" + first + listed + second, ""},
		"the first job is gone":             {forbid + first + removed + second, "JobIsKept"},
		"a user creates the second":         {forbid + first + user + of("b", ""), ""},
		"the first is another cron job's":   {forbid + strings.Replace(first, `"uid":"c"`, `"uid":"d"`, 1) + second, ""},
		"a running job is replaced":         {replace + first + removed + second, ""},
		"a running job was replaced before": {replace + forbid + first + removed + second, ""},
		"a finished job is removed":         {forbid + controller + of("a", complete) + removed, ""},
		"replaced by another controller":    {replace + first + "manager-0 job-controller jobs/r/a -\n", "JobIsKept"},
		"collected with its cron job":       {forbid + first + user + "cronjobs/r/c -\n" + "manager-0 generic-garbage-collector jobs/r/a -\n", ""},
		"collected without a cron job":      {strings.Replace(first, owned("CronJob", "c"), "", 1) + "manager-0 generic-garbage-collector jobs/r/a -\n", "JobIsKept"},
	} {
		t.Run(name, func(t *testing.T) {
			breaks(t, recorded(t, row.lines), row.rule)
		})
	}
	t.Run("with the fix of finding 45", func(t *testing.T) {
		t.Setenv("WATCHSIM_MUTANT", "fix-finding-45")
		breaks(t, recorded(t, forbid+first+second), "ForbidsTwo")
	})
}
