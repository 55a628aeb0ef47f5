package controlplane_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
)

// resources maps etcd key segments to resources.
var resources = map[string]string{
	"configmaps": "configmaps", "controllerrevisions": "controllerrevisions.apps", "cronjobs": "cronjobs.batch", "daemonsets": "daemonsets.apps", "deployments": "deployments.apps", "example.com": "customs.example.com", "jobs": "jobs.batch", "minions": "nodes", "namespaces": "namespaces",
	"persistentvolumeclaims": "persistentvolumeclaims", "persistentvolumes": "persistentvolumes", "pods": "pods", "poddisruptionbudgets": "poddisruptionbudgets.policy", "replicasets": "replicasets.apps", "statefulsets": "statefulsets.apps",
}

// recorded returns the recording of a run with a write every 20 s, one line each: "program controller key value". The shared
// informers of manager-0 observe each a second later, except lines that begin with "!". The other requests, asked, come before the last request for their resource.
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

// beforehand returns a request of a controller of manager-0 at some second, with the status code of the answer.
func beforehand(kind model.Kind, controller, key string, second time.Duration, code int) *importer.Told {
	asked := importer.Exchange{Kind: kind, Request: importer.Request{Scope: model.Scope{Name: key}}, Client: "manager-0", Agent: "kube-controller-manager/" + controller}
	asked.Call, asked.Return, asked.Code = int64(second*time.Second), int64(second*time.Second)+1, code
	return &importer.Told{Exchange: asked}
}

// at returns lines with authors: those that they name, or a user, and for the last a controller of manager-0.
func at(lines, controller, last string) string {
	text := ""
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		line, untold := strings.CutPrefix(line, "!")
		text += map[bool]string{true: "!"}[untold] + "user kubectl " + line
	}
	return text + "\nmanager-0 " + controller + " " + last
}

// A controller deletes a replica set of a deployment.
func TestEmptyHistory(t *testing.T) {
	const controller, gone = "deployment-controller", "replicasets/r/x -"
	for name, row := range map[string]struct {
		lines, controller, last string
		broken                  int
	}{
		"asks for a pod":                     {setOf("x", 1), controller, gone, 1},
		"asks for none":                      {setOf("x", 1) + setOf("x", 0), controller, gone, 0},
		"asks for a pod, which is not known": {setOf("x", 0) + "!" + setOf("x", 1), controller, gone, 0},
		"by another controller":              {setOf("x", 1), "generic-garbage-collector", gone, 0},
		"scaled":                             {setOf("x", 1), controller, setOf("x", 0), 0},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.broken, brokenOf(t, recorded(t, at(row.lines, row.controller, row.last)), "EmptyHistory"))
		})
	}
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
		"within":                            {rolling + setOf("x", 4) + setOf("y", 1), controller, setOf("x", 2), 0},
		"beyond":                            {rolling + setOf("x", 4) + setOf("y", 1), controller, setOf("x", 1), 1},
		"within a percentage":               {share + setOf("x", 4), controller, setOf("x", 2), 0},
		"beyond a percentage":               {share + setOf("x", 4), controller, setOf("x", 1), 1},
		"one less, both bounds 0":           {none + setOf("x", 4), controller, setOf("x", 3), 0},
		"two less, both bounds 0":           {none + setOf("x", 4), controller, setOf("x", 2), 1},
		"within a percentage, rounded down": {rounded + setOf("x", 4), controller, setOf("x", 3), 0},
		"beyond a percentage, rounded down": {rounded + setOf("x", 4), controller, setOf("x", 2), 1},
		"stricter bound earlier":            {kept + rolling + setOf("x", 4), controller, setOf("x", 3), 0},
		"strategy Recreate":                 {recreate + setOf("x", 4), controller, setOf("x", 0), 0},
		"by another controller":             {rolling + setOf("x", 4), "generic-garbage-collector", "replicasets/r/x -", 0},
		"scaled up":                         {rolling + setOf("x", 0), controller, setOf("x", 1), 0},
		"of another deployment":             {rolling + setOf("x", 4) + strings.Replace(setOf("y", 2), `"uid":"d"`, `"uid":"e"`, 1), controller, setOf("x", 1), 1},
		"another set not observed":          {rolling + setOf("x", 4) + "!" + setOf("y", 1), controller, setOf("x", 1), 0},
		"deletion of a set not observed":    {rolling + setOf("x", 4) + setOf("y", 4) + "!replicasets/r/y -\n", controller, setOf("x", 1), 0},
		"deletion of a set observed":        {rolling + setOf("x", 4) + setOf("y", 4) + "replicasets/r/y -\n", controller, setOf("x", 1), 1},
		"stricter bound not observed":       {recreate + "!" + rolling + setOf("x", 4), controller, setOf("x", 1), 0},
		"deployment not observed":           {"!" + rolling + setOf("x", 4), controller, setOf("x", 1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.broken, brokenOf(t, recorded(t, at(row.lines, row.controller, row.last)), "WithinUnavailable"))
		})
	}
}

// The pods of a daemon set or stateful set are replaced by a rollout.
func TestReplacedOneByOne(t *testing.T) {
	member := func(kind, name, node, metadata, ready string) string {
		text := pod("u"+name, `,"namespace":"r","name":"`+name+`"`+metadata+owned(kind, "s"), `"nodeName":"`+node+`"`, "Running")
		text = strings.Replace(text, `"uid":"s"`, `"uid":"s","name":"s"`, 1)
		return "pods/r/" + name + " " + strings.Replace(text, `"phase":"Running"`, `"phase":"Running","conditions":[{"type":"Ready","status":"`+ready+`"}]`, 1) + "\n"
	}
	stateful := func(name, metadata, ready string) string { return member("StatefulSet", name, "n", metadata, ready) }
	daemon := func(name, metadata, ready string) string { return member("DaemonSet", name, name, metadata, ready) }
	withStrategy := func(replicas, strategy, generation string) string {
		return `user kubectl statefulsets/r/s {"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"uid":"s","generation":` + generation + `},"spec":{"replicas":` + replicas + `,"updateStrategy":{` + strategy + "}}}\n"
	}
	statefulSet := func(replicas, generation string) string { return withStrategy(replicas, "", generation) }
	daemonSet := func(selector string) string {
		return `user kubectl daemonsets/r/s {"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"uid":"s"},"spec":{"template":{"spec":{` + selector + "}}}}\n"
	}
	daemons := func(strategy string) string {
		return `user kubectl daemonsets/r/s {"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"uid":"s"},"spec":{"updateStrategy":{` + strategy + "}}}\n"
	}
	rolling := func(fields string) string { return `"type":"RollingUpdate","rollingUpdate":{` + fields + "}" }
	const onDelete = `"type":"OnDelete"`
	const ss, ds, user, other = "manager-0 statefulset-controller ", "manager-0 daemon-set-controller ", "user kubectl ", "manager-1 statefulset-controller "
	three, ofDaemons := statefulSet("3", "1"), daemonSet("")
	twoDying := user + stateful("s-0", "", "True") + user + stateful("s-1", "", "True") + user + stateful("s-2", "", "True") + ss + stateful("s-2", dying, "True") + ss + stateful("s-1", dying, "True")
	daemonDying := user + daemon("a", "", "True") + ds + daemon("b", "", "False") + ds + daemon("a", dying, "True")
	for name, row := range map[string]struct {
		lines  string
		broken int
	}{
		"two at a time":                        {withStrategy("3", rolling(`"maxUnavailable":2`), "1") + twoDying, 0},
		"three of two at a time":               {withStrategy("3", rolling(`"maxUnavailable":2`), "1") + twoDying + ss + stateful("s-0", dying, "True"), 1},
		"a third, rounded up":                  {withStrategy("3", rolling(`"maxUnavailable":"30%"`), "1") + twoDying, 1},
		"two thirds":                           {withStrategy("3", rolling(`"maxUnavailable":"70%"`), "1") + twoDying, 0},
		"one at a time, not observed":          {withStrategy("3", rolling(`"maxUnavailable":2`), "1") + "!" + statefulSet("3", "2") + twoDying, 0},
		"two daemon pods at a time":            {daemons(rolling(`"maxUnavailable":2`)) + daemonDying, 0},
		"one daemon pod at a time":             {daemons(rolling(`"maxUnavailable":1`)) + daemonDying, 1},
		"daemon pods by a percentage":          {daemons(rolling(`"maxUnavailable":"10%"`)) + daemonDying, 0},
		"daemon pods that surge":               {daemons(rolling(`"maxUnavailable":0,"maxSurge":1`)) + daemonDying, 0},
		"ordinals from 2":                      {strings.Replace(three, `"replicas":3`, `"replicas":3,"ordinals":{"start":2}`, 1) + user + stateful("s-1", "", "True") + ss + stateful("s-2", "", "False") + ss + stateful("s-1", dying, "True"), 0},
		"next pod being deleted":               {three + user + stateful("s-1", "", "True") + user + stateful("s-2", "", "True") + ss + stateful("s-2", dying, "True") + ss + stateful("s-1", dying, "True"), 1},
		"next pod never ready":                 {three + user + stateful("s-1", "", "True") + ss + stateful("s-2", "", "False") + ss + stateful("s-1", dying, "True"), 1},
		"next pod was ready once":              {three + user + stateful("s-1", "", "True") + ss + stateful("s-2", "", "True") + ss + stateful("s-2", "", "False") + ss + stateful("s-1", dying, "True"), 0},
		"next pod created by another life":     {three + user + stateful("s-1", "", "True") + other + stateful("s-2", "", "False") + ss + stateful("s-1", dying, "True"), 0},
		"next pod deleted by a user":           {three + user + stateful("s-1", "", "True") + user + stateful("s-2", "", "True") + user + stateful("s-2", dying, "True") + ss + stateful("s-1", dying, "True"), 0},
		"previous pod being deleted":           {three + user + stateful("s-1", "", "True") + user + stateful("s-2", "", "True") + ss + stateful("s-1", dying, "True") + ss + stateful("s-2", dying, "True"), 0},
		"unready pod":                          {three + user + stateful("s-1", "", "False") + ss + stateful("s-2", "", "False") + ss + stateful("s-1", dying, "False"), 0},
		"deleted by a user":                    {three + user + stateful("s-1", "", "True") + ss + stateful("s-2", "", "False") + user + stateful("s-1", dying, "True"), 0},
		"next pod deleted by scale down":       {statefulSet("2", "1") + user + stateful("s-1", "", "True") + user + stateful("s-2", "", "True") + ss + stateful("s-2", dying, "True") + ss + stateful("s-1", dying, "True"), 0},
		"scale down":                           {statefulSet("1", "1") + user + stateful("s-1", "", "True") + ss + stateful("s-2", "", "False") + ss + stateful("s-1", dying, "True"), 0},
		"scale up from 1 not observed":         {statefulSet("1", "1") + "!" + statefulSet("3", "2") + user + stateful("s-1", "", "True") + ss + stateful("s-2", "", "False") + ss + stateful("s-1", dying, "True"), 0},
		"scale up from 3 not observed":         {three + "!" + statefulSet("4", "2") + user + stateful("s-1", "", "True") + ss + stateful("s-2", "", "False") + ss + stateful("s-1", dying, "True"), 1},
		"node selector removed, not observed":  {daemonSet(`"nodeSelector":{"disk":"fast"}`) + "!" + ofDaemons + user + daemon("a", "", "True") + ds + daemon("b", "", "False") + ds + daemon("a", dying, "True"), 0},
		"unknown stateful set":                 {user + stateful("s-1", "", "True") + ss + stateful("s-2", "", "False") + ss + stateful("s-1", dying, "True"), 0},
		"readiness not observed":               {three + user + stateful("s-1", "", "False") + "!" + user + stateful("s-1", "", "True") + ss + stateful("s-2", "", "False") + ss + stateful("s-1", dying, "True"), 0},
		"another daemon pod being deleted":     {ofDaemons + user + daemon("a", "", "True") + user + daemon("b", "", "True") + ds + daemon("a", dying, "True") + ds + daemon("b", dying, "True"), 1},
		"another daemon pod never ready":       {ofDaemons + user + daemon("a", "", "True") + ds + daemon("b", "", "False") + ds + daemon("a", dying, "True"), 1},
		"another daemon pod ready":             {ofDaemons + user + daemon("a", "", "True") + ds + daemon("b", "", "True") + ds + daemon("a", dying, "True"), 0},
		"daemon set with a node selector":      {daemonSet(`"nodeSelector":{"disk":"fast"}`) + user + daemon("a", "", "True") + ds + daemon("b", "", "False") + ds + daemon("a", dying, "True"), 0},
		"second daemon pod on the node":        {ofDaemons + user + member("DaemonSet", "a", "n", "", "True") + ds + member("DaemonSet", "b", "n", "", "False") + ds + member("DaemonSet", "a", "n", dying, "True"), 0},
		"another daemon pod deleted by a user": {ofDaemons + user + daemon("a", "", "True") + user + daemon("b", "", "True") + user + daemon("b", dying, "True") + ds + daemon("a", dying, "True"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.broken, brokenOf(t, recorded(t, row.lines), "ReplacedOneByOne"))
		})
	}
	deleted := user + stateful("s-1", "", "True") + ss + stateful("s-1", dying, "True")
	daemonDeleted := user + daemon("a", "", "True") + ds + daemon("a", dying, "True")
	tainted := func(effect string) string {
		return user + `minions/a {"apiVersion":"v1","kind":"Node","metadata":{"name":"a","uid":"n"},"spec":{"taints":[{"key":"k","effect":"` + effect + `"}]},"status":{"allocatable":{"pods":"2"}}}` + "\n"
	}
	second := "another kubectl " + member("DaemonSet", "b", "a", "", "True")
	for name, row := range map[string]struct {
		lines  string
		broken int
	}{
		"OnDelete":                                 {withStrategy("3", onDelete, "1") + deleted, 1},
		"OnDelete, by a user":                      {withStrategy("3", onDelete, "1") + user + stateful("s-1", "", "True") + user + stateful("s-1", dying, "True"), 0},
		"OnDelete, scale down":                     {withStrategy("1", onDelete, "1") + deleted, 0},
		"OnDelete, not observed":                   {three + "!" + withStrategy("3", onDelete, "2") + deleted, 0},
		"OnDelete no more, not observed":           {withStrategy("3", onDelete, "1") + "!" + statefulSet("3", "2") + deleted, 0},
		"below the partition":                      {withStrategy("3", rolling(`"partition":2`), "1") + deleted, 1},
		"not below the partition":                  {withStrategy("3", rolling(`"partition":1`), "1") + deleted, 0},
		"below the partition of ordinals from 1":   {strings.Replace(withStrategy("3", rolling(`"partition":1`), "1"), `"replicas":3`, `"replicas":3,"ordinals":{"start":1}`, 1) + deleted, 1},
		"below the partition, which not all knew":  {withStrategy("3", rolling(`"partition":1`), "1") + "!" + withStrategy("3", rolling(`"partition":2`), "2") + deleted, 0},
		"daemon pod":                               {ofDaemons + daemonDeleted, 0},
		"daemon pod, OnDelete":                     {daemons(onDelete) + daemonDeleted, 1},
		"daemon pod, OnDelete, NoExecute taint":    {daemons(onDelete) + tainted("NoExecute") + daemonDeleted, 0},
		"daemon pod, OnDelete, NoSchedule taint":   {daemons(onDelete) + tainted("NoSchedule") + daemonDeleted, 1},
		"one of two daemon pods":                   {daemons(onDelete) + second + daemonDeleted, 0},
		"one of two daemon pods, the other dying":  {daemons(onDelete) + second + "!user kubectl pods/r/b -\n" + daemonDeleted, 0},
		"the second daemon pod was seen to vanish": {daemons(onDelete) + second + "user kubectl pods/r/b -\n" + daemonDeleted, 1},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.broken, brokenOf(t, recorded(t, row.lines), "ReplacedByUsers"))
		})
	}
}

// A pod is evicted from a tainted node.
func TestEvictedByTaint(t *testing.T) {
	tainted := func(effect string) string {
		return `minions/n {"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"n"},"spec":{"taints":[{"key":"k","effect":"` + effect + `"}]},"status":{"allocatable":{"pods":"2"}}}` + "\n"
	}
	const evicts, keeps, controller = "NoExecute", "NoSchedule", "node-controller"
	runs, gone := "pods/r/p "+pod("p", "", bound, "Running")+"\n", "pods/r/p -"
	// tolerates is a pod that tolerates the taint for so long; lines are 20 s apart.
	tolerates := func(key, seconds string) string {
		return "pods/r/p " + pod("p", "", bound+`,"tolerations":[{"key":"`+key+`","operator":"Exists"`+seconds+`}]`, "Running") + "\n"
	}
	const long, short = `,"tolerationSeconds":21`, `,"tolerationSeconds":20`
	named := func(uid string) string {
		return "pods/r/p " + pod(uid, `,"namespace":"r","name":"p"`, bound, "Running") + "\n"
	}
	namesake := tainted(evicts) + named("o") + "pods/r/p -\n"
	for name, row := range map[string]struct {
		lines, controller string
		broken            int
	}{
		"finding 57":                        {namesake + tainted(keeps) + named("p"), controller, 0},
		"its node was never tainted":        {tainted(keeps) + named("o") + "pods/r/p -\n" + named("p"), controller, 1},
		"as long as tolerated":              {tolerates("k", short) + tainted(evicts), controller, 0},
		"too soon":                          {tolerates("k", long) + tainted(evicts), controller, 1},
		"too soon after it was created":     {tainted(evicts) + tolerates("k", long), controller, 1},
		"tolerated for ever":                {tolerates("k", "") + tainted(evicts), controller, 1},
		"another taint tolerated":           {tolerates("l", long) + tainted(evicts), controller, 0},
		"removed for a moment":              {tolerates("k", long) + tainted(evicts) + tainted(keeps) + tainted(evicts), controller, 0},
		"removed for a while":               {tolerates("k", long) + tainted(evicts) + strings.Repeat(tainted(keeps), 3) + tainted(evicts), controller, 1},
		"taint":                             {runs + tainted(evicts), controller, 0},
		"taint removed":                     {runs + tainted(evicts) + tainted(keeps), controller, 1},
		"taint restored":                    {runs + tainted(keeps) + tainted(evicts), controller, 0},
		"no taint":                          {runs + tainted(keeps), controller, 1},
		"removal of the taint not observed": {runs + tainted(evicts) + "!" + tainted(keeps), controller, 0},
		"earlier removal observed":          {runs + tainted(evicts) + tainted(keeps) + "!" + tainted(keeps), controller, 1},
		"by another controller":             {runs + tainted(keeps), "pod-garbage-collector", 0},
		"node deleted":                      {runs + tainted(keeps) + "minions/n -\n", controller, 0},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.broken, brokenOf(t, recorded(t, at(row.lines, row.controller, gone)), "EvictedByTaint"))
		})
	}
	t.Setenv(mutant.Variable, "fix-finding-57")
	require.Equal(t, 1, brokenOf(t, recorded(t, at(namesake+tainted(keeps)+named("p"), controller, gone)), "EvictedByTaint"))
}
