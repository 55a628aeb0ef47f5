package controlplane_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
)

// resources are those of keys of etcd.
var resources = map[string]string{
	"configmaps": "configmaps", "daemonsets": "daemonsets.apps", "deployments": "deployments.apps", "jobs": "jobs.batch", "minions": "nodes", "namespaces": "namespaces",
	"pods": "pods", "poddisruptionbudgets": "poddisruptionbudgets.policy", "replicasets": "replicasets.apps", "statefulsets": "statefulsets.apps",
}

// recorded is what is known of states that somebody has written every 20 s, one line each: "program controller key value". The shared
// informers of manager-0 are told of each a second later, but for lines that begin with "!". What else was asked comes before the last request for the same resource.
func recorded(t *testing.T, lines string, asked ...*importer.Told) simtest.Seen {
	seen := simtest.Seen{Histories: map[string]*model.History{}, Requests: map[string][]*importer.Told{}}
	for _, resource := range resources {
		opened := importer.Exchange{Kind: model.List, Request: importer.Request{Watch: true}, Client: "manager-0", Call: 1, Agent: "kube-controller-manager/shared-informers"}
		seen.Requests[resource] = []*importer.Told{{Exchange: opened}}
		seen.Histories[resource] = &model.History{Streams: []model.Stream{{ID: 1, Client: "manager-0", Call: 1}}}
	}
	uids := map[string]string{}
	all, resource := "", ""
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		line, untold := strings.CutPrefix(strings.TrimSpace(line), "!")
		parts := strings.SplitN(line, " ", 4)
		key, value := parts[2], parts[3]
		all += key + " " + value + "\n"
		rv := int64(strings.Count(all, "\n"))
		call := 20 * rv * int64(time.Second)
		kind, _, _ := strings.Cut(key, "/")
		scope := model.Scope{Name: key}
		resource = resources[kind]
		history := seen.Histories[resource]
		history.Operations = append(history.Operations, model.Operation{ID: int(rv), Kind: model.Update, Client: parts[0], Scope: scope, Call: call, Return: call + 1, ResultRV: rv})
		asked := importer.Exchange{Kind: model.Update, Request: importer.Request{Scope: scope}, Client: parts[0], Call: call, Return: call + 1, Agent: "kube-controller-manager/" + parts[1]}
		seen.Requests[resource] = append(seen.Requests[resource], &importer.Told{Exchange: asked})
		told := model.Event{Time: call + int64(time.Second), Type: model.Modified, RV: rv}
		switch {
		case value == "-":
			told.Type = model.Deleted
		case uids[key] == "":
			told.Type = model.Added
		}
		if value != "-" {
			var object struct{ Metadata struct{ UID string } }
			require.NoError(t, json.Unmarshal([]byte(value), &object))
			uids[key] = object.Metadata.UID
		}
		told.Object = &model.Object{Namespace: "r", Name: key, UID: uids[key], RV: rv}
		history.Truth.Changes = append(history.Truth.Changes, model.Change{RV: rv, Deleted: value == "-", Object: *told.Object})
		if !untold {
			history.Streams[0].Events = append(history.Streams[0].Events, told)
		}
	}
	seen.Committed = states(t, all)
	seen.Requests[resource] = slices.Insert(seen.Requests[resource], len(seen.Requests[resource])-1, asked...)
	return seen
}

// beforehand is what a controller of manager-0 asked for at some second, and the code of the answer.
func beforehand(kind model.Kind, controller, key string, second time.Duration, code int) *importer.Told {
	asked := importer.Exchange{Kind: kind, Request: importer.Request{Scope: model.Scope{Name: key}}, Client: "manager-0", Agent: "kube-controller-manager/" + controller}
	asked.Call, asked.Return, asked.Code = int64(second*time.Second), int64(second*time.Second)+1, code
	return &importer.Told{Exchange: asked}
}

// at has the lines of a test written by whom it names, the last one by a controller of manager-0.
func at(lines, controller, last string) string {
	text := ""
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		line, untold := strings.CutPrefix(line, "!")
		text += map[bool]string{true: "!"}[untold] + "user kubectl " + line
	}
	return text + "\nmanager-0 " + controller + " " + last
}

// A deployment of four pods keeps three available.
func TestWithinUnavailable(t *testing.T) {
	deployment := func(strategy string) string {
		return `deployments/r/d {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"uid":"d"},"spec":{"replicas":4,"strategy":{` + strategy + "}}}\n"
	}
	rolling, recreate := deployment(`"rollingUpdate":{"maxSurge":1,"maxUnavailable":1}`), deployment(`"type":"Recreate"`)
	share, none := deployment(`"rollingUpdate":{"maxSurge":1,"maxUnavailable":"50%"}`), deployment(`"rollingUpdate":{"maxSurge":0,"maxUnavailable":0}`)
	rounded, kept := deployment(`"rollingUpdate":{"maxSurge":1,"maxUnavailable":"30%"}`), deployment(`"rollingUpdate":{"maxSurge":1,"maxUnavailable":0}`)
	const controller = "deployment-controller"
	for name, row := range map[string]struct {
		lines, controller, last string
		broken                  int
	}{
		"within":                      {rolling + setOf("x", 4) + setOf("y", 1), controller, setOf("x", 2), 0},
		"beyond":                      {rolling + setOf("x", 4) + setOf("y", 1), controller, setOf("x", 1), 1},
		"deleted":                     {rolling + setOf("x", 4) + setOf("y", 1), controller, "replicasets/r/x -", 1},
		"within a share":              {share + setOf("x", 4), controller, setOf("x", 2), 0},
		"beyond a share":              {share + setOf("x", 4), controller, setOf("x", 1), 1},
		"one, if none may be missing": {none + setOf("x", 4), controller, setOf("x", 3), 0},
		"two, if none may be missing": {none + setOf("x", 4), controller, setOf("x", 2), 1},
		"within a share of little":    {rounded + setOf("x", 4), controller, setOf("x", 3), 0},
		"beyond a share of little":    {rounded + setOf("x", 4), controller, setOf("x", 2), 1},
		"one that kept more once":     {kept + rolling + setOf("x", 4), controller, setOf("x", 3), 0},
		"of a recreated one":          {recreate + setOf("x", 4), controller, setOf("x", 0), 0},
		"by another controller":       {rolling + setOf("x", 4), "generic-garbage-collector", "replicasets/r/x -", 0},
		"scaled up":                   {rolling + setOf("x", 0), controller, setOf("x", 1), 0},
		"of another deployment":       {rolling + setOf("x", 4) + strings.Replace(setOf("y", 2), `"uid":"d"`, `"uid":"e"`, 1), controller, setOf("x", 1), 1},
		"not told of another":         {rolling + setOf("x", 4) + "!" + setOf("y", 1), controller, setOf("x", 1), 0},
		"not told that one is gone":   {rolling + setOf("x", 4) + setOf("y", 4) + "!replicasets/r/y -\n", controller, setOf("x", 1), 0},
		"told that one is gone":       {rolling + setOf("x", 4) + setOf("y", 4) + "replicasets/r/y -\n", controller, setOf("x", 1), 1},
		"not told that it wants more": {recreate + "!" + rolling + setOf("x", 4), controller, setOf("x", 1), 0},
		"not told of it at all":       {"!" + rolling + setOf("x", 4), controller, setOf("x", 1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.broken, brokenOf(t, recorded(t, at(row.lines, row.controller, row.last)), "WithinUnavailable"))
		})
	}
}

// Pods run whose set has another template.
func TestReplacedOneByOne(t *testing.T) {
	member := func(kind, name, node, metadata, ready string) string {
		text := pod("u"+name, `,"namespace":"r","name":"`+name+`"`+metadata+owned(kind, "s"), `"nodeName":"`+node+`"`, "Running")
		text = strings.Replace(text, `"uid":"s"`, `"uid":"s","name":"s"`, 1)
		return "pods/r/" + name + " " + strings.Replace(text, `"phase":"Running"`, `"phase":"Running","conditions":[{"type":"Ready","status":"`+ready+`"}]`, 1) + "\n"
	}
	stateful := func(name, metadata, ready string) string { return member("StatefulSet", name, "n", metadata, ready) }
	daemon := func(name, metadata, ready string) string { return member("DaemonSet", name, name, metadata, ready) }
	statefulSet := func(replicas, generation string) string {
		return `user kubectl statefulsets/r/s {"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"uid":"s","generation":` + generation + `},"spec":{"replicas":` + replicas + "}}\n"
	}
	daemonSet := func(selector string) string {
		return `user kubectl daemonsets/r/s {"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"uid":"s"},"spec":{"template":{"spec":{` + selector + "}}}}\n"
	}
	const ss, ds, user, other = "manager-0 statefulset-controller ", "manager-0 daemon-set-controller ", "user kubectl ", "manager-1 statefulset-controller "
	three, ofDaemons := statefulSet("3", "1"), daemonSet("")
	for name, row := range map[string]struct {
		lines  string
		broken int
	}{
		"the next goes as well":               {three + user + stateful("s-1", "", "True") + user + stateful("s-2", "", "True") + ss + stateful("s-2", dying, "True") + ss + stateful("s-1", dying, "True"), 1},
		"the next is not ready":               {three + user + stateful("s-1", "", "True") + ss + stateful("s-2", "", "False") + ss + stateful("s-1", dying, "True"), 1},
		"the next was ready":                  {three + user + stateful("s-1", "", "True") + ss + stateful("s-2", "", "True") + ss + stateful("s-2", "", "False") + ss + stateful("s-1", dying, "True"), 0},
		"the next is of another life":         {three + user + stateful("s-1", "", "True") + other + stateful("s-2", "", "False") + ss + stateful("s-1", dying, "True"), 0},
		"a user has deleted the next":         {three + user + stateful("s-1", "", "True") + user + stateful("s-2", "", "True") + user + stateful("s-2", dying, "True") + ss + stateful("s-1", dying, "True"), 0},
		"the one before goes as well":         {three + user + stateful("s-1", "", "True") + user + stateful("s-2", "", "True") + ss + stateful("s-1", dying, "True") + ss + stateful("s-2", dying, "True"), 0},
		"a pod that is not ready":             {three + user + stateful("s-1", "", "False") + ss + stateful("s-2", "", "False") + ss + stateful("s-1", dying, "False"), 0},
		"a user deletes it":                   {three + user + stateful("s-1", "", "True") + ss + stateful("s-2", "", "False") + user + stateful("s-1", dying, "True"), 0},
		"the next goes as the set shrinks":    {statefulSet("2", "1") + user + stateful("s-1", "", "True") + user + stateful("s-2", "", "True") + ss + stateful("s-2", dying, "True") + ss + stateful("s-1", dying, "True"), 0},
		"a set that shrinks":                  {statefulSet("1", "1") + user + stateful("s-1", "", "True") + ss + stateful("s-2", "", "False") + ss + stateful("s-1", dying, "True"), 0},
		"a set that has shrunk":               {statefulSet("1", "1") + "!" + statefulSet("3", "2") + user + stateful("s-1", "", "True") + ss + stateful("s-2", "", "False") + ss + stateful("s-1", dying, "True"), 0},
		"a set that has just grown":           {three + "!" + statefulSet("4", "2") + user + stateful("s-1", "", "True") + ss + stateful("s-2", "", "False") + ss + stateful("s-1", dying, "True"), 1},
		"daemons that chose a node before":    {daemonSet(`"nodeSelector":{"disk":"fast"}`) + "!" + ofDaemons + user + daemon("a", "", "True") + ds + daemon("b", "", "False") + ds + daemon("a", dying, "True"), 0},
		"one that nobody knows":               {user + stateful("s-1", "", "True") + ss + stateful("s-2", "", "False") + ss + stateful("s-1", dying, "True"), 0},
		"a pod that was just ready":           {three + user + stateful("s-1", "", "False") + "!" + user + stateful("s-1", "", "True") + ss + stateful("s-2", "", "False") + ss + stateful("s-1", dying, "True"), 0},
		"another daemon goes":                 {ofDaemons + user + daemon("a", "", "True") + user + daemon("b", "", "True") + ds + daemon("a", dying, "True") + ds + daemon("b", dying, "True"), 1},
		"another daemon is not ready":         {ofDaemons + user + daemon("a", "", "True") + ds + daemon("b", "", "False") + ds + daemon("a", dying, "True"), 1},
		"another daemon is ready":             {ofDaemons + user + daemon("a", "", "True") + ds + daemon("b", "", "True") + ds + daemon("a", dying, "True"), 0},
		"daemons for some nodes":              {daemonSet(`"nodeSelector":{"disk":"fast"}`) + user + daemon("a", "", "True") + ds + daemon("b", "", "False") + ds + daemon("a", dying, "True"), 0},
		"a second daemon of the node":         {ofDaemons + user + member("DaemonSet", "a", "n", "", "True") + ds + member("DaemonSet", "b", "n", "", "False") + ds + member("DaemonSet", "a", "n", dying, "True"), 0},
		"another one was deleted by somebody": {ofDaemons + user + daemon("a", "", "True") + user + daemon("b", "", "True") + user + daemon("b", dying, "True") + ds + daemon("a", dying, "True"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.broken, brokenOf(t, recorded(t, row.lines), "ReplacedOneByOne"))
		})
	}
}

// A pod is evicted from a node that has been tainted.
func TestEvictedByTaint(t *testing.T) {
	tainted := func(effect string) string {
		return `minions/n {"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"n"},"spec":{"taints":[{"key":"k","effect":"` + effect + `"}]},"status":{"allocatable":{"pods":"2"}}}` + "\n"
	}
	const evicts, keeps, controller = "NoExecute", "NoSchedule", "node-controller"
	runs, gone := "pods/r/p "+pod("p", "", bound, "Running")+"\n", "pods/r/p -"
	for name, row := range map[string]struct {
		lines, controller string
		broken            int
	}{
		"for a taint":                  {runs + tainted(evicts), controller, 0},
		"for one that is gone":         {runs + tainted(evicts) + tainted(keeps), controller, 1},
		"for one that is back":         {runs + tainted(keeps) + tainted(evicts), controller, 0},
		"for none":                     {runs + tainted(keeps), controller, 1},
		"not told that it is gone":     {runs + tainted(evicts) + "!" + tainted(keeps), controller, 0},
		"told that it is gone, before": {runs + tainted(evicts) + tainted(keeps) + "!" + tainted(keeps), controller, 1},
		"by another controller":        {runs + tainted(keeps), "pod-garbage-collector", 0},
		"from a node that is gone":     {runs + tainted(keeps) + "minions/n -\n", controller, 0},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.broken, brokenOf(t, recorded(t, at(row.lines, row.controller, gone)), "EvictedByTaint"))
		})
	}
}
