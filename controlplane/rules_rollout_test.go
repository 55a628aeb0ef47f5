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

// setOf is a replica set of deployment d that asks for so many pods; its name is its UID.
func setOf(name string, replicas int) string {
	return fmt.Sprintf(`replicasets/r/%s {"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"uid":"%s"%s},"spec":{"replicas":%d}}`+"\n", name, name, owned("Deployment", "d"), replicas)
}

// A deployment of two pods, which allows another one, has a replica set x at revision 2. Every 20 s later, somebody writes another one of its replica sets.
func TestWithinSurge(t *testing.T) {
	deployment := func(strategy string) string {
		return `deployments/r/d {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"uid":"d"},"spec":{"replicas":2,"strategy":{` + strategy + "}}}\n"
	}
	rolling, recreate := deployment(`"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}`), deployment(`"type":"Recreate"`)
	percent := deployment(`"type":"RollingUpdate","rollingUpdate":{"maxSurge":"50%"}`)
	both, many := []string{"manager-0", "manager-0"}, deployment(`"rollingUpdate":{"maxSurge":7}`)
	for name, row := range map[string]struct {
		states  string
		writers []string
		// told says whether the shared informers of manager-0 are told of what is written one second later; fixed that finding 30 is.
		told, fixed bool
		// waits is when a request of the deployment controller began that takes five seconds, 0 for none.
		waits  int
		broken int
	}{
		"within":                      {rolling + setOf("x", 2) + setOf("y", 1), both, true, false, 0, 0},
		"beyond":                      {rolling + setOf("x", 2) + setOf("y", 2), both, true, false, 0, 1},
		"while it waits":              {rolling + setOf("x", 2) + setOf("y", 2), both, true, false, 27, 0},
		"after it has waited":         {rolling + setOf("x", 2) + setOf("y", 2), both, true, false, 20, 1},
		"before it waits":             {rolling + setOf("x", 2) + setOf("y", 2), both, true, false, 31, 1},
		"within a share":              {percent + setOf("x", 2) + setOf("y", 1), both, true, false, 0, 0},
		"beyond a share":              {percent + setOf("x", 2) + setOf("y", 2), both, true, false, 0, 1},
		"of a recreated one":          {recreate + setOf("x", 2) + setOf("y", 1), both, true, false, 0, 1},
		"finding 30":                  {rolling + setOf("x", 2) + setOf("y", 2), both, false, false, 0, 0},
		"finding 30, which is mended": {rolling + setOf("x", 2) + setOf("y", 2), both, false, true, 0, 1},
		"one that has allowed more":   {many + rolling + setOf("x", 2) + setOf("y", 2), []string{"", "manager-0", "manager-0"}, false, true, 0, 0},
		"one that allowed more once":  {many + rolling + setOf("x", 2) + setOf("y", 2), []string{"", "manager-0", "manager-0"}, true, true, 0, 1},
		"of another life":             {rolling + setOf("x", 2) + setOf("y", 2), []string{"manager-1", "manager-0"}, false, true, 0, 0},
		"of another deployment":       {rolling + strings.Replace(setOf("x", 2), `"uid":"d"`, `"uid":"e"`, 1) + setOf("y", 2), both, true, false, 0, 0},
		"by a user":                   {rolling + setOf("x", 2) + setOf("y", 2), []string{"user", "user"}, true, true, 0, 0},
		"scaled down":                 {rolling + setOf("x", 9) + setOf("x", 8), []string{"user", "manager-0"}, true, true, 0, 0},
		"scaled down before":          {rolling + setOf("x", 2) + setOf("x", 0) + setOf("y", 3), []string{"manager-0", "manager-0", "manager-0"}, true, false, 0, 0},
		"deleted before":              {rolling + setOf("x", 2) + "replicasets/r/x -\n" + setOf("y", 3), []string{"manager-0", "manager-0", "manager-0"}, true, false, 0, 0},
		"of nobody known":             {setOf("w", 1) + setOf("x", 2) + setOf("y", 9), both, true, false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if row.fixed {
				t.Setenv("WATCHSIM_MUTANT", "fix-finding-30")
			}
			committed := states(t, row.states)
			sets, deployments := &model.History{}, &model.History{}
			for i, client := range row.writers {
				call := int64(20*(i+1)) * int64(time.Second)
				sets.Operations = append(sets.Operations, model.Operation{ID: i, Kind: model.Update, Client: client, Call: call, Return: call + 1, ResultRV: int64(i + 2)})
			}
			requests := map[string][]*importer.Told{}
			if row.told {
				opened := &importer.Told{Exchange: importer.Exchange{Kind: model.List, Request: importer.Request{Watch: true}, Client: "manager-0", Call: 1, Agent: "kube-controller-manager/shared-informers"}}
				requests["replicasets.apps"] = append(requests["replicasets.apps"], opened)
				stream := model.Stream{ID: 1, Client: "manager-0", Call: 1}
				for i := range row.writers {
					stream.Events = append(stream.Events, model.Event{Time: int64(20*(i+1)+1) * int64(time.Second), Type: model.Modified, RV: int64(i + 2), Object: &model.Object{UID: "x", RV: int64(i + 2)}})
				}
				sets.Streams = []model.Stream{stream}
				requests["deployments.apps"] = append(requests["deployments.apps"], opened)
				deployments.Streams = []model.Stream{{ID: 1, Client: "manager-0", Call: 1, Events: []model.Event{{Time: 1, Type: model.Added, RV: 2, Object: &model.Object{UID: "d", RV: 2}}}}}
			}
			if row.waits > 0 {
				call := int64(row.waits) * int64(time.Second)
				waits := &importer.Told{Exchange: importer.Exchange{Kind: model.Update, Client: "manager-0", Call: call, Return: call + int64(5*time.Second), Agent: "kube-controller-manager/deployment-controller"}}
				requests["deployments.apps"] = append(requests["deployments.apps"], waits)
			}
			seen := simtest.Seen{Committed: committed, Histories: map[string]*model.History{"replicasets.apps": sets, "deployments.apps": deployments}, Requests: requests}
			require.Equal(t, row.broken, brokenOf(t, seen, "WithinSurge"))
		})
	}
}

// Without histories, everybody knows everything.
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
		text := pod(n, owned("StatefulSet", "s"), "", "Running")
		return "pods/r/s-" + n + " " + strings.Replace(text, `"phase":"Running"`, `"phase":"Running","conditions":[{"type":"Ready","status":"`+ready+`"}]`, 1) + "\n"
	}
	const ordered, atOnce = "OrderedReady", "Parallel"
	for name, row := range map[string]struct{ states, rule string }{
		"two pods at a time":          {parallel + of("a", "") + of("b", ""), ""},
		"three pods at a time":        {parallel + of("a", "") + of("b", "") + of("c", ""), "NoExtraWork"},
		"when two have ended":         {parallel + ended("a", "Succeeded") + ended("b", "Failed") + of("c", "") + of("d", ""), ""},
		"one after another":           {parallel + of("a", "") + of("b", "") + "pods/r/a -\n" + of("c", ""), ""},
		"two indices":                 {parallel + of("a", indexed("0")) + of("b", indexed("1")), ""},
		"an index twice":              {parallel + of("a", indexed("0")) + of("b", indexed("0")), "NoExtraWork"},
		"an index once more":          {parallel + of("a", indexed("0")) + "pods/r/a -\n" + of("b", indexed("0")), ""},
		"a job that nobody knows":     {of("a", "") + of("b", "") + of("c", ""), ""},
		"one by one":                  {stateful(ordered) + member("0", "False") + member("0", "True") + member("0", "False") + member("1", "False"), ""},
		"one before another is ready": {stateful(ordered) + member("9", "True") + member("10", "True") + member("2", "False") + member("3", "False"), "OneByOne"},
		"ten come after two":          {stateful(ordered) + member("10", "False") + member("2", "False"), ""},
		"at once":                     {stateful(atOnce) + member("0", "False") + member("1", "False"), ""},
		"late, of the one before":     {stateful(ordered) + strings.Replace(stateful(ordered), `"uid":"s"`, `"uid":"t"`, 1) + strings.Replace(member("0", "False"), `"uid":"s"`, `"uid":"t"`, 1) + member("1", "False"), ""},
		"of another stateful set":     {stateful(ordered) + member("0", "False") + "statefulsets/r/s -\n" + strings.Replace(stateful(ordered), `"uid":"s"`, `"uid":"t"`, 1) + member("1", "False"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			breaks(t, simtest.Seen{Committed: states(t, row.states)}, row.rule)
		})
	}
}
