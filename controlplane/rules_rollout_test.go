package controlplane_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
)

// setOf returns a replica set of deployment d with so many replicas; its name is its UID.
func setOf(name string, replicas int) string {
	return fmt.Sprintf(`replicasets/r/%s {"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"uid":"%s"%s},"spec":{"replicas":%d}}`+"\n", name, name, owned("Deployment", "d"), replicas)
}

// A deployment of two pods with a maxSurge of one has replica sets.
func TestWithinSurge(t *testing.T) {
	deployment := func(strategy string) string {
		return `user kubectl deployments/r/d {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"uid":"d"},"spec":{"replicas":2,"strategy":{` + strategy + "}}}\n"
	}
	// scaler is another controller of the same manager: WithinUnavailable does not apply to it.
	const mine, scaler, other, user = "manager-0 deployment-controller ", "manager-0 scaler ", "manager-1 deployment-controller ", "user kubectl "
	rolling, recreate := deployment(`"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}`), deployment(`"type":"Recreate"`)
	percent, many := deployment(`"type":"RollingUpdate","rollingUpdate":{"maxSurge":"50%"}`), deployment(`"rollingUpdate":{"maxSurge":7}`)
	x, y := mine+setOf("x", 2), mine+setOf("y", 2)
	for name, row := range map[string]struct {
		lines string
		fixed bool // the fix of finding 30 is on
		// waits is the start of a five-second request of the deployment controller, 0 for none.
		waits  time.Duration
		broken int
	}{
		"within":                               {rolling + x + mine + setOf("y", 1), false, 0, 0},
		"beyond":                               {rolling + x + y, false, 0, 1},
		"while it waits for an answer":         {rolling + x + y, false, 47 * time.Second, 0},
		"after it has received an answer":      {rolling + x + y, false, 40 * time.Second, 1},
		"before its request":                   {rolling + x + y, false, 51 * time.Second, 1},
		"within a percentage":                  {percent + x + mine + setOf("y", 1), false, 0, 0},
		"beyond a percentage":                  {percent + x + y, false, 0, 1},
		"strategy Recreate":                    {recreate + x + mine + setOf("y", 1), false, 0, 1},
		"finding 30":                           {rolling + "!" + x + y, false, 0, 0},
		"finding 30 with its fix":              {rolling + "!" + x + y, true, 0, 1},
		"larger maxSurge, change not observed": {many + "!" + rolling + x + y, true, 0, 0},
		"larger maxSurge earlier":              {many + rolling + x + y, true, 0, 1},
		"of another life":                      {rolling + "!" + other + setOf("x", 2) + y, true, 0, 0},
		"of another deployment":                {rolling + strings.Replace(x, `"uid":"d"`, `"uid":"e"`, 1) + y, false, 0, 0},
		"by a user":                            {rolling + user + setOf("x", 2) + user + setOf("y", 2), true, 0, 0},
		"scaled down":                          {rolling + user + setOf("x", 9) + mine + setOf("x", 8), true, 0, 0},
		"scaled down before":                   {rolling + x + scaler + setOf("x", 0) + mine + setOf("y", 3), false, 0, 0},
		"deleted before":                       {rolling + x + scaler + "replicasets/r/x -\n" + mine + setOf("y", 3), false, 0, 0},
		"unknown deployment":                   {x + mine + setOf("y", 9), false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if row.fixed {
				t.Setenv("WATCHSIM_MUTANT", "fix-finding-30")
			}
			seen := recorded(t, row.lines)
			if row.waits > 0 {
				waits := importer.Exchange{Kind: model.Update, Client: "manager-0", Call: int64(row.waits), Return: int64(row.waits + 5*time.Second), Agent: "kube-controller-manager/deployment-controller"}
				seen.Requests["deployments.apps"] = append(seen.Requests["deployments.apps"], &importer.Told{Exchange: waits})
			}
			require.Equal(t, row.broken, brokenOf(t, seen, "WithinSurge"))
		})
	}
}

// Without histories, every client is taken to know everything.
func TestRulesAboutSeveralPods(t *testing.T) {
	parallel := strings.Replace("jobs/r/j "+job(""), `"completions":2`, `"completions":5,"parallelism":2`, 1) + "\n"
	of := func(uid, index string) string {
		return "pods/r/" + uid + " " + pod(uid, owned("Job", "j")+`,"annotations":{`+index+`}`, "", "") + "\n"
	}
	indexed := func(n string) string { return `"batch.kubernetes.io/job-completion-index":"` + n + `"` }
	stateful := func(policy string) string {
		return `statefulsets/r/s {"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"uid":"s"},"spec":{"podManagementPolicy":"` + policy + "\"}}\n"
	}
	member := func(n, ready string) string {
		text := pod(n, `,"name":"s-`+n+`"`+owned("StatefulSet", "s"), "", "Running")
		return "pods/r/s-" + n + " " + strings.Replace(text, `"phase":"Running"`, `"phase":"Running","conditions":[{"type":"Ready","status":"`+ready+`"}]`, 1) + "\n"
	}
	const ordered, atOnce = "OrderedReady", "Parallel"
	from := func(start string) string {
		return strings.Replace(stateful(ordered), `"spec":{`, `"spec":{"ordinals":{"start":`+start+"},", 1)
	}
	for name, row := range map[string]struct{ states, rule string }{
		"two pods at a time":             {parallel + of("a", "") + of("b", ""), ""},
		"three pods at a time":           {parallel + of("a", "") + of("b", "") + of("c", ""), "NoExtraWork"},
		"after two have finished":        {parallel + ended("a", "Succeeded") + ended("b", "Failed") + of("c", "") + of("d", ""), ""},
		"replacement of a removed pod":   {parallel + of("a", "") + of("b", "") + "pods/r/a -\n" + of("c", ""), ""},
		"two indexes":                    {parallel + of("a", indexed("0")) + of("b", indexed("1")), ""},
		"an index twice":                 {parallel + of("a", indexed("0")) + of("b", indexed("0")), "NoExtraWork"},
		"an index again after a removal": {parallel + of("a", indexed("0")) + "pods/r/a -\n" + of("b", indexed("0")), ""},
		"unknown job":                    {of("a", "") + of("b", "") + of("c", ""), ""},
		"in order":                       {stateful(ordered) + member("0", "False") + member("0", "True") + member("0", "False") + member("1", "False"), ""},
		"predecessor never ready":        {stateful(ordered) + member("9", "True") + member("10", "True") + member("2", "False") + member("3", "False"), "OneByOne"},
		"10 comes after 2":               {stateful(ordered) + member("10", "False") + member("2", "False"), ""},
		"predecessor from 1 on":          {from("1") + member("1", "False") + member("2", "False"), "OneByOne"},
		"below the first ordinal":        {from("2") + member("1", "False") + member("2", "False"), ""},
		"Parallel":                       {stateful(atOnce) + member("0", "False") + member("1", "False"), ""},
		"pod of the predecessor":         {stateful(ordered) + strings.Replace(stateful(ordered), `"uid":"s"`, `"uid":"t"`, 1) + strings.Replace(member("0", "False"), `"uid":"s"`, `"uid":"t"`, 1) + member("1", "False"), ""},
		"recreated stateful set":         {stateful(ordered) + member("0", "False") + "statefulsets/r/s -\n" + strings.Replace(stateful(ordered), `"uid":"s"`, `"uid":"t"`, 1) + member("1", "False"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			breaks(t, simtest.Seen{Committed: states(t, row.states)}, row.rule)
		})
	}
}
