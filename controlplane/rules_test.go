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

// states returns commits to etcd, given as lines "key value"; the value - is
// a deletion. Fields that no rule reads are left out.
func states(t *testing.T, lines string) (truth model.Truth) {
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		require.True(t, ok, line)
		truth.Revision++
		change := model.Change{RV: truth.Revision, Deleted: value == "-", Object: model.Object{Name: "/registry/" + key, Value: value}}
		require.True(t, change.Deleted || json.Valid([]byte(value)), line)
		truth.Changes = append(truth.Changes, change)
	}
	return truth
}

// pod returns a pod with a UID, further metadata, a spec and a phase.
func pod(uid, metadata, spec, phase string) string {
	return `{"apiVersion":"v1","kind":"Pod","metadata":{"uid":"` + uid + `"` + metadata + `},"spec":{` + spec + `},"status":{"phase":"` + phase + `"}}`
}

// owned returns metadata with a controller reference.
func owned(kind, uid string) string {
	return `,"ownerReferences":[{"apiVersion":"v1","kind":"` + kind + `","uid":"` + uid + `","controller":true}]`
}

const (
	node    = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"},"status":{"allocatable":{"cpu":"1","pods":"2"}}}`
	bound   = `"nodeName":"n"`
	half    = bound + `,"containers":[{"name":"c","resources":{"requests":{"cpu":"500m"}}}]`
	most    = bound + `,"containers":[{"name":"c","resources":{"requests":{"cpu":"600m"}}}]`
	set     = `{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"uid":"s"},"spec":{"replicas":1}}`
	dying   = `,"deletionTimestamp":"2026-01-01T00:00:00Z"`
	forNode = `"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n"]}]}]}}}`
)

// surging is a daemon set that may have two pods on a node.
const surging = `daemonsets/r/d {"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"uid":"d"},"spec":{"updateStrategy":{"rollingUpdate":{"maxSurge":"30%","maxUnavailable":0}}}}` + "\n"

func job(status string) string {
	return `{"apiVersion":"batch/v1","kind":"Job","metadata":{"uid":"j"},"spec":{"completions":2},"status":{` + status + `}}`
}

// fewer returns that job with one completion.
func fewer(status string) string {
	return strings.Replace(job(status), `"completions":2`, `"completions":1`, 1)
}

// ended returns a pod of that job that has succeeded or failed.
func ended(name, phase string) string {
	return "pods/r/" + name + " " + pod(name, owned("Job", "j"), "", phase) + "\n"
}

// done are pods of that job: two have succeeded and two have failed.
var done = ended("a", "Succeeded") + ended("b", "Succeeded") + ended("c", "Failed") + ended("d", "Failed")

func quota(hard, used string) string {
	return `{"apiVersion":"v1","kind":"ResourceQuota","metadata":{"uid":"q"},"spec":{"hard":{"pods":"` + hard + `"}},"status":{"used":{"pods":"` + used + `"}}}`
}

func configMap(admission, annotation string) string {
	annotations := ""
	if annotation != "" {
		annotations = `,"annotations":{"example.com/admitted":"` + annotation + `"}`
	}
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"example.com/admission":"` + admission + `"}` + annotations + `}}`
}

// service returns a service with a cluster IP and a port on nodes.
func service(name, address, port string) string {
	return "services/specs/r/" + name + ` {"apiVersion":"v1","kind":"Service","metadata":{"namespace":"r","name":"` + name + `","uid":"` + name + `"},"spec":{` + address + `,"ports":[{"nodePort":` + port + "}]}}\n"
}

const ip, headless, port = `"clusterIPs":["10.0.0.1"]`, `"clusterIPs":["None"]`, "30000"

func TestRules(t *testing.T) {
	for name, test := range map[string]struct{ states, broken string }{
		"a config map passes its webhook":          {"configmaps/r/c " + configMap("fail", "yes"), ""},
		"a config map bypasses its webhook":        {"configmaps/r/c " + configMap("fail", ""), "AdmittedFirst"},
		"failurePolicy Ignore":                     {"configmaps/r/c " + configMap("ignore", ""), ""},
		"a pod is bound":                           {"pods/r/a " + pod("1", "", "", "") + "\npods/r/a " + pod("1", "", bound, ""), ""},
		"a pod is moved":                           {"pods/r/a " + pod("1", "", bound, "") + "\npods/r/a " + pod("1", "", `"nodeName":"m"`, ""), "BoundOnce"},
		"a pod is recreated":                       {"pods/r/a " + pod("1", "", bound, "") + "\npods/r/a " + pod("2", "", `"nodeName":"m"`, ""), ""},
		"a pod fails":                              {"pods/r/a " + pod("1", "", "", "Running") + "\npods/r/a " + pod("1", "", "", "Failed"), ""},
		"a failed pod runs again":                  {"pods/r/a " + pod("1", "", "", "Failed") + "\npods/r/a " + pod("1", "", "", "Running"), "EndIsFinal"},
		"a full node":                              {"minions/n " + node + "\npods/r/a " + pod("1", "", half, "") + "\npods/r/b " + pod("2", "", half, ""), ""},
		"too much CPU":                             {"minions/n " + node + "\npods/r/a " + pod("1", "", half, "") + "\npods/r/b " + pod("2", "", most, ""), "Fits"},
		"room of a failed pod":                     {"minions/n " + node + "\npods/r/a " + pod("1", "", half, "Failed") + "\npods/r/b " + pod("2", "", most, ""), ""},
		"too many pods":                            {"minions/n " + node + "\npods/r/a " + pod("1", "", bound, "") + "\npods/r/b " + pod("2", "", bound, "") + "\npods/r/c " + pod("3", "", bound, ""), "Fits"},
		"a replica":                                {"replicasets/r/s " + set + "\npods/r/a " + pod("1", owned("ReplicaSet", "s"), "", ""), ""},
		"a second replica":                         {"replicasets/r/s " + set + "\npods/r/a " + pod("1", owned("ReplicaSet", "s"), "", "") + "\npods/r/b " + pod("2", owned("ReplicaSet", "s"), "", ""), "NoExtraReplica"},
		"replacement of a terminating pod":         {"replicasets/r/s " + set + "\npods/r/a " + pod("1", dying+owned("ReplicaSet", "s"), "", "") + "\npods/r/b " + pod("2", owned("ReplicaSet", "s"), "", ""), ""},
		"replacement of a removed pod":             {"replicasets/r/s " + set + "\npods/r/a " + pod("1", owned("ReplicaSet", "s"), "", "") + "\npods/r/a -\npods/r/b " + pod("2", owned("ReplicaSet", "s"), "", ""), ""},
		"two pods of a daemon set":                 {"pods/r/a " + pod("1", owned("DaemonSet", "d"), forNode, "") + "\npods/r/b " + pod("2", owned("DaemonSet", "d"), forNode, ""), "OnePerNode"},
		"two pods of a daemon set that surges":     {surging + "pods/r/a " + pod("1", owned("DaemonSet", "d"), forNode, "") + "\npods/r/b " + pod("2", owned("DaemonSet", "d"), forNode, ""), ""},
		"three pods of a daemon set that surges":   {surging + "pods/r/a " + pod("1", owned("DaemonSet", "d"), forNode, "") + "\npods/r/b " + pod("2", owned("DaemonSet", "d"), forNode, "") + "\npods/r/c " + pod("3", owned("DaemonSet", "d"), forNode, ""), "OnePerNode"},
		"pods of two daemon sets":                  {"pods/r/a " + pod("1", owned("DaemonSet", "d"), forNode, "") + "\npods/r/b " + pod("2", owned("DaemonSet", "e"), forNode, ""), ""},
		"a pod beside one adopted from a job":      {"pods/r/a " + pod("1", owned("Job", "j"), "", "") + "\npods/r/a " + pod("1", owned("DaemonSet", "d"), bound, "") + "\npods/r/b " + pod("2", owned("DaemonSet", "d"), forNode, ""), ""},
		"a pod of a job":                           {"jobs/r/j " + job("") + "\npods/r/a " + pod("1", owned("Job", "j"), "", ""), ""},
		"a pod of a finished job":                  {"jobs/r/j " + job(`"conditions":[{"type":"Complete","status":"True"}]`) + "\npods/r/a " + pod("1", owned("Job", "j"), "", ""), "JobIsOver"},
		"a job counts":                             {done + "jobs/r/j " + job(`"succeeded":1`) + "\njobs/r/j " + job(`"succeeded":2`), ""},
		"a job counts down":                        {done + "jobs/r/j " + job(`"failed":2`) + "\njobs/r/j " + job(`"failed":1`), "JobCounts"},
		"a job counts a pod twice":                 {strings.TrimPrefix(done, ended("a", "Succeeded")) + "jobs/r/j " + job(`"succeeded":2`), "JobCounts"},
		"a job counts a failure twice":             {strings.TrimSuffix(done, ended("d", "Failed")) + "jobs/r/j " + job(`"failed":2`), "JobCounts"},
		"a job counts a removed pod":               {"pods/r/a " + pod("a", owned("Job", "j"), "", "Running") + "\npods/r/a -\njobs/r/j " + job(`"failed":1`), ""},
		"a job counts a success that failed later": {ended("a", "Succeeded") + ended("a", "Failed") + "jobs/r/j " + job(`"succeeded":1`), "EndIsFinal"},
		"services with addresses":                  {service("a", ip, port) + service("b", `"clusterIPs":["10.0.0.2"]`, "30001") + service("c", headless, "0") + service("d", headless, "0"), ""},
		"a cluster IP of two services":             {service("a", ip, "0") + service("b", ip, "0"), "UniqueAddress"},
		"a cluster IP after an update":             {service("a", ip, "0") + service("b", headless, "0") + service("b", ip, "0"), "UniqueAddress"},
		"a port of two services":                   {service("a", headless, port) + service("b", headless, port), "UniqueAddress"},
		"a cluster IP that was given up":           {service("a", ip, "0") + service("a", headless, "0") + service("b", ip, "0"), ""},
		"a cluster IP of a removed service":        {service("a", ip, "0") + "services/specs/r/a -\n" + service("b", ip, "0"), ""},
		"an elastic job counts down":               {done + "jobs/r/j " + job(`"succeeded":2`) + "\njobs/r/j " + fewer(`"succeeded":2`) + "\njobs/r/j " + fewer(`"succeeded":1`), ""},
		"an elastic job counts too many for now":   {done + "jobs/r/j " + job(`"succeeded":2`) + "\njobs/r/j " + fewer(`"succeeded":2`), ""},
		"a job counts more than its completions":   {"jobs/r/j " + job(`"succeeded":3`), "JobCounts"},
	} {
		t.Run(name, func(t *testing.T) {
			breaks(t, simtest.Seen{Committed: states(t, test.states)}, test.broken)
		})
	}
}

// A controller whose create request timed out creates another pod, and breaks no rule.
func TestUnconfirmedPods(t *testing.T) {
	replicas := states(t, "replicasets/r/s "+set+"\npods/r/a "+pod("1", owned("ReplicaSet", "s"), "", "")+"\npods/r/b "+pod("2", owned("ReplicaSet", "s"), "", ""))
	told := func(created ...int) map[string]*model.History {
		h := &model.History{}
		for _, n := range created {
			h.Operations = append(h.Operations, model.Operation{Kind: model.Create, ResultRV: replicas.Changes[n].RV})
		}
		return map[string]*model.History{"pods": h}
	}
	for _, test := range []struct {
		pods   map[string]*model.History
		broken int
	}{{told(1, 2), 1}, {told(2), 0}, {told(1), 0}} {
		require.Equal(t, test.broken, brokenOf(t, simtest.Seen{Committed: replicas, Histories: test.pods}, "NoExtraReplica"))
	}
}

// For leases and jobs it matters who wrote them, and when: each line of states is a request that takes a
// second, so many seconds after the start.
func TestRulesAboutWhoWrote(t *testing.T) {
	lease := func(holder string) string {
		return `leases/kube-system/kube-scheduler {"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"uid":"l"},"spec":{"holderIdentity":"` + holder + `","leaseDurationSeconds":15}}`
	}
	type request struct {
		client string
		at     int
	}
	const scheduler, other, manager, user = "scheduler-0", "scheduler-1", "manager-0", "user"
	const namespace = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"r","uid":"n"}}`
	change := "pods/r/p " + pod("3", "", "", "")
	owner := func(rest string) string {
		return `configmaps/r/o {"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"r","name":"o","uid":"o"` + rest + `}}`
	}
	// dependent returns a config map with an owner of this kind, name and UID; right has the owner above.
	dependent := func(kind, name, uid string) string {
		return `configmaps/r/d {"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"r","name":"d","uid":"d","ownerReferences":[{"apiVersion":"v1","kind":"` +
			kind + `","name":"` + name + `","uid":"` + uid + `"}]}}`
	}
	right := dependent("ConfigMap", "o", "o")
	custom := strings.NewReplacer("configmaps/", "example.com/customs/", `{"apiVersion":"v1","kind":"ConfigMap"`, `{"apiVersion":"example.com/v1","kind":"Custom"`).Replace
	// charged returns a quota that an API server charges, which is not a client; count is a controller's later write.
	charged := func(hard string) string {
		return "resourcequotas/r/q " + quota(hard, "0") + "\nresourcequotas/r/q " + quota(hard, "1") + "\n"
	}
	two, count := "pods/r/a "+pod("1", "", "", "")+"\npods/r/b "+pod("2", "", "", "")+"\n", "resourcequotas/r/q "+quota("2", "2")
	// health returns a node with a Ready condition.
	health := func(ready string) string {
		return `minions/n {"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"u"},"status":{"conditions":[{"type":"Ready","status":"` + ready + `"}]}}` + "\n"
	}
	// renewed is a node that renews its lease and is declared unreachable later.
	renewed := health("True") + `leases/kube-node-lease/n {"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"uid":"l"}}` + "\n" + health("Unknown")
	for name, test := range map[string]struct {
		states   string
		requests []request
		broken   string
	}{
		"unreachable node":                           {renewed, []request{{"node-0", 0}, {"node-0", 10}, {manager, 62}}, ""},
		"node with a fresh lease":                    {renewed, []request{{"node-0", 0}, {"node-0", 10}, {manager, 55}}, "NodeIsSilent"},
		"lease renewed after the read":               {renewed, []request{{"node-0", 0}, {"node-0", 10}, {manager, 12}}, ""},
		"a lease is renewed":                         {lease("a") + "\n" + lease("a"), []request{{scheduler, 0}, {scheduler, 2}}, ""},
		"a lease expires":                            {lease("a") + "\n" + lease("b"), []request{{scheduler, 0}, {other, 15}}, ""},
		"a lease is acquired too early":              {lease("a") + "\n" + lease("b"), []request{{scheduler, 0}, {other, 13}}, "LeaseHeld"},
		"a second term is cut short":                 {lease("b") + "\n" + lease("a") + "\n" + lease("b"), []request{{other, 0}, {scheduler, 20}, {other, 25}}, "LeaseHeld"},
		"a lease is released":                        {lease("scheduler-0_1") + "\n" + lease("") + "\n" + lease("scheduler-1_1"), []request{{scheduler, 0}, {scheduler, 2}, {other, 4}}, ""},
		"a leader acts":                              {lease("scheduler-0_1") + "\n" + change, []request{{scheduler, 0}, {scheduler, 2}}, ""},
		"a former leader acts":                       {lease("scheduler-0_1") + "\n" + lease("scheduler-1_1") + "\n" + change, []request{{scheduler, 0}, {other, 20}, {scheduler, 22}}, "LeaderActs"},
		"a former leader acted before":               {lease("scheduler-0_1") + "\n" + lease("scheduler-1_1") + "\n" + change, []request{{scheduler, 0}, {other, 20}, {scheduler, 20}}, ""},
		"another life of a leader acts":              {lease("scheduler-0_1") + "\n" + lease("scheduler-0_2") + "\n" + change, []request{{scheduler, 0}, {scheduler, 20}, {scheduler, 22}}, ""},
		"a leader acts after releasing its lease":    {lease("scheduler-0_1") + "\n" + lease("") + "\n" + change, []request{{scheduler, 0}, {scheduler, 2}, {scheduler, 4}}, "LeaderActs"},
		"a user acts":                                {lease("scheduler-0_1") + "\n" + lease("scheduler-1_1") + "\n" + change, []request{{scheduler, 0}, {other, 20}, {user, 22}}, ""},
		"a job is deleted by a user":                 {"jobs/r/j " + job("") + "\njobs/r/j -", []request{{user, 0}, {user, 1}}, ""},
		"an unfinished job is deleted by a manager":  {"jobs/r/j " + job("") + "\njobs/r/j -", []request{{user, 0}, {manager, 1}}, "JobIsKept"},
		"a finished job is deleted":                  {"jobs/r/j " + job(`"conditions":[{"type":"Failed","status":"True"}]`) + "\njobs/r/j -", []request{{user, 0}, {manager, 1}}, ""},
		"a job is deleted with its namespace":        {"namespaces/r " + strings.Replace(namespace, `"uid":"n"`, `"uid":"n"`+dying, 1) + "\njobs/r/j " + job("") + "\njobs/r/j -", []request{{manager, 0}, {user, 1}, {manager, 2}}, ""},
		"a terminating job is removed":               {"jobs/r/j " + strings.Replace(job(""), `"uid":"j"`, `"uid":"j"`+dying, 1) + "\njobs/r/j -", []request{{user, 0}, {manager, 1}}, ""},
		"an orphan is collected":                     {space + "configmaps/r/o -\n" + right + "\nconfigmaps/r/d -", []request{{user, 0}, {user, 1}, {user, 2}, {manager, 3}}, ""},
		"a dependent is collected":                   {space + owner("") + "\n" + right + "\nconfigmaps/r/d -", []request{{user, 0}, {user, 1}, {user, 2}, {manager, 3}}, "OwnedIsKept"},
		"a custom dependent is collected":            {space + custom(owner("")+"\n"+right+"\nconfigmaps/r/d -"), []request{{user, 0}, {user, 1}, {user, 2}, {manager, 3}}, "OwnedIsKept"},
		"a dependent of a custom owner is collected": {space + custom(owner("")) + "\n" + strings.Replace(right, `[{"apiVersion":"v1","kind":"ConfigMap"`, `[{"apiVersion":"example.com/v1","kind":"Custom"`, 1) + "\nconfigmaps/r/d -", []request{{user, 0}, {user, 1}, {user, 2}, {manager, 3}}, "OwnedIsKept"},
		"a dependent is deleted by a user":           {space + owner("") + "\n" + right + "\nconfigmaps/r/d -", []request{{user, 0}, {user, 1}, {user, 2}, {user, 3}}, ""},
		"an object without owners is collected":      {space + owner("") + "\nconfigmaps/r/o -", []request{{user, 0}, {user, 1}, {manager, 2}}, "OwnedIsKept"},
		"a terminating owner":                        {space + owner(dying) + "\n" + right + "\nconfigmaps/r/d -", []request{{user, 0}, {user, 1}, {user, 2}, {manager, 3}}, ""},
		"an owner of another name":                   {space + owner("") + "\n" + dependent("ConfigMap", "p", "o") + "\nconfigmaps/r/d -", []request{{user, 0}, {user, 1}, {user, 2}, {manager, 3}}, ""},
		"an owner of another kind":                   {space + owner("") + "\n" + dependent("Secret", "o", "o") + "\nconfigmaps/r/d -", []request{{user, 0}, {user, 1}, {user, 2}, {manager, 3}}, ""},
		"an owner with another UID":                  {space + owner("") + "\n" + dependent("ConfigMap", "o", "p") + "\nconfigmaps/r/d -", []request{{user, 0}, {user, 1}, {user, 2}, {manager, 3}}, ""},
		"a quota is charged":                         {charged("2") + change + "\n" + two + count, []request{{user, 0}, {"", 1}, {user, 2}, {user, 4}, {user, 5}, {manager, 6}}, ""},
		"a quota is exceeded":                        {charged("2") + change + "\n" + two + "pods/r/c " + pod("4", "", "", "") + "\n" + count, []request{{user, 0}, {"", 1}, {user, 2}, {user, 4}, {user, 5}, {user, 6}, {manager, 7}}, "WithinQuota"},
		"a quota that is charged again":              {charged("9") + "resourcequotas/r/q " + quota("9", "2"), []request{{user, 0}, {"", 1}, {"", 2}}, ""},
		"a quota whose usage is lowered":             {charged("9") + "resourcequotas/r/q " + quota("9", "2") + "\nresourcequotas/r/q " + quota("9", "1"), []request{{user, 0}, {"", 1}, {"", 2}, {"", 3}}, "ChargesAdd"},
		"a quota that is recounted":                  {charged("9") + "resourcequotas/r/q " + quota("9", "0"), []request{{user, 0}, {"", 1}, {manager, 2}}, ""},
		"a quota that was never charged":             {"resourcequotas/r/q " + quota("1", "0") + "\n" + two + count, []request{{user, 0}, {user, 2}, {user, 3}, {manager, 4}}, ""},
		"a quota created after the pods":             {two + charged("1") + count, []request{{user, 0}, {user, 1}, {user, 2}, {"", 3}, {manager, 4}}, ""},
		"a quota that shrinks":                       {charged("2") + change + "\n" + two + "resourcequotas/r/q " + quota("1", "2"), []request{{user, 0}, {"", 1}, {user, 2}, {user, 4}, {user, 5}, {user, 6}}, ""},
		"a node as owner":                            {space + "minions/n " + strings.Replace(node, `"name":"n"`, `"name":"n","uid":"o"`, 1) + "\n" + dependent("Node", "n", "o") + "\nconfigmaps/r/d -", []request{{user, 0}, {user, 1}, {user, 2}, {manager, 3}}, "OwnedIsKept"},
		"a terminating namespace":                    {"namespaces/r " + strings.Replace(namespace, `"uid":"n"`, `"uid":"n"`+dying, 1) + "\n" + owner("") + "\n" + right + "\nconfigmaps/r/d -", []request{{user, 0}, {user, 1}, {user, 2}, {manager, 3}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			committed, h := states(t, test.states), &model.History{}
			for i, r := range test.requests {
				if r.client == "" {
					continue
				}
				call := int64(time.Duration(r.at) * time.Second)
				h.Operations = append(h.Operations, model.Operation{Kind: model.Update, Client: r.client, Call: call, Return: call + int64(time.Second), ResultRV: committed.Changes[i].RV})
			}
			breaks(t, simtest.Seen{Committed: committed, Histories: map[string]*model.History{"all": h}}, test.broken)
		})
	}
}

// A write without a known author may be one of the quota controller, whose request timed out or which was killed before the answer.
func TestChargesAddUnlessTheControllerGotNoAnswer(t *testing.T) {
	committed := states(t, "resourcequotas/r/q "+quota("9", "2")+"\nresourcequotas/r/q "+quota("9", "1"))
	for name, broken := range map[string]int{"q": 0, "p": 1} {
		for _, request := range []importer.Told{{Op: model.Operation{Err: model.Unknown}}, {Exchange: importer.Exchange{Return: model.Pending}}} {
			request.Scope = model.Scope{Namespace: "r", Name: name}
			seen := simtest.Seen{Committed: committed, Histories: map[string]*model.History{"resourcequotas": {}}, Requests: map[string][]*importer.Told{"resourcequotas": {&request}}}
			require.Equal(t, broken, brokenOf(t, seen, "ChargesAdd"))
		}
	}
	for _, row := range []struct {
		read   model.Operation
		broken int
	}{
		{model.Operation{Kind: model.Get, Touch: true, ResultRV: 2}, 0}, // which may have been the write
		{model.Operation{Kind: model.Get, Touch: true, ResultRV: 1}, 1},
		{model.Operation{Kind: model.Get, ResultRV: 2}, 1},
	} {
		history := &model.History{Operations: []model.Operation{row.read}}
		require.Equal(t, row.broken, brokenOf(t, simtest.Seen{Committed: committed, Histories: map[string]*model.History{"resourcequotas": history}}, "ChargesAdd"))
	}
}

// A node may be overcommitted by pods that the binding scheduler does not know of.
func TestFitsByOneScheduler(t *testing.T) {
	const here, there = "scheduler-0", "scheduler-1"
	bind := func(pod, session string, code int) *importer.Told {
		asked := importer.Request{Subresource: "binding", Scope: model.Scope{Namespace: "r", Name: pod}}
		return &importer.Told{Exchange: importer.Exchange{Request: asked, Client: session, Code: code, Return: 1}}
	}
	watch := func(session string, rv, call int64) *importer.Told {
		return &importer.Told{Exchange: importer.Exchange{Request: importer.Request{Watch: true, RV: rv}, Client: session, Call: call}}
	}
	committed := states(t, "minions/n "+node+"\npods/r/a "+pod("1", "", half, "")+"\npods/r/b "+pod("2", "", most, ""))
	for name, row := range map[string]struct {
		requests []*importer.Told
		broken   int
	}{
		"one life":  {[]*importer.Told{bind("a", here, 201), bind("b", here, 201)}, 1},
		"two lives": {[]*importer.Told{bind("a", there, 201), bind("b", here, 201)}, 0},
		"two lives, listed after the first binding": {[]*importer.Told{bind("a", there, 201), watch(here, model.RVUnset, 2), bind("b", here, 201)}, 1},
		"two lives, listed before":                  {[]*importer.Told{watch(here, model.RVUnset, 1), bind("a", there, 201), bind("b", here, 201)}, 0},
		"two lives, listed from a cache":            {[]*importer.Told{bind("a", there, 201), watch(here, 0, 2), watch(here, model.RVUnset, 3), bind("b", here, 201)}, 0},
		"first binding timed out":                   {[]*importer.Told{bind("a", here, 0), bind("b", here, 201)}, 0},
		"second binding timed out":                  {[]*importer.Told{bind("a", here, 201), bind("b", here, 0)}, 0},
		"first pod bound twice":                     {[]*importer.Told{bind("a", here, 201), bind("a", here, 201), bind("b", here, 201)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			seen := simtest.Seen{Committed: committed, Histories: map[string]*model.History{}, Requests: map[string][]*importer.Told{"pods": row.requests}}
			require.Equal(t, row.broken, brokenOf(t, seen, "Fits"))
		})
	}
}

// Controllers other than the garbage collector may delete dependents of a living owner, such as a replica set's pods.
func TestOwnedIsKeptAppliesToTheGarbageCollector(t *testing.T) {
	const collector = "generic-garbage-collector"
	lives := space + ownerSet + "pods/r/p " + pod("p", `,"namespace":"r","name":"p"`+ownedBy("s"), "", "") + "\n"
	for name, row := range map[string]struct {
		lines, controller string
		broken            int
	}{
		"collected":                        {lives, collector, 1},
		"deleted by its controller":        {lives, "replicaset-controller", 0},
		"collected once the owner is gone": {lives + "replicasets/r/s -\n", collector, 0},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.broken, brokenOf(t, recorded(t, at(row.lines, row.controller, "pods/r/p -")), "OwnedIsKept"))
		})
	}
}

// A finished job whose TTL was removed or raised may be deleted only if it was read before that.
func TestJobIsKeptByItsTTL(t *testing.T) {
	// The job has finished after 19 s and is deleted after 60 s.
	unlimited := "jobs/r/j " + job(`"conditions":[{"type":"Complete","status":"True","lastTransitionTime":"1970-01-01T00:00:19Z"}]`) + "\n"
	limit := func(seconds string) string {
		return strings.Replace(unlimited, `"completions":2`, `"completions":2,"ttlSecondsAfterFinished":`+seconds, 1)
	}
	const timeToLive, collector = "ttl-after-finished-controller", "generic-garbage-collector"
	read := func(controller string, rv int64) *importer.Told {
		told := beforehand(model.Get, controller, "jobs/r/j", 50, 200)
		told.Op.Objects = []model.Object{{RV: rv}}
		return told
	}
	for name, row := range map[string]struct {
		before     []*importer.Told
		controller string
		becomes    string
		broken     int
	}{
		"read before":                   {[]*importer.Told{read(timeToLive, 1)}, timeToLive, unlimited, 0},
		"read again after":              {[]*importer.Told{read(timeToLive, 1), read(timeToLive, 2)}, timeToLive, unlimited, 1},
		"read by another controller":    {[]*importer.Told{read(collector, 1)}, timeToLive, unlimited, 1},
		"not read":                      {nil, timeToLive, unlimited, 1},
		"by a controller without TTLs":  {nil, collector, unlimited, 0},
		"read after, then before":       {[]*importer.Told{read(timeToLive, 2), read(timeToLive, 1)}, timeToLive, unlimited, 0},
		"raised":                        {nil, timeToLive, limit("42"), 1},
		"raised, read before":           {[]*importer.Told{read(timeToLive, 1)}, timeToLive, limit("42"), 0},
		"raised, expired":               {nil, timeToLive, limit("41"), 0},
		"raised, by another controller": {nil, collector, limit("42"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			seen := recorded(t, at(limit("1")+row.becomes, row.controller, "jobs/r/j -"), row.before...)
			require.Equal(t, row.broken, brokenOf(t, seen, "JobIsKept"))
		})
	}
}

// A controller that deletes a pod by name may delete another pod than the one it knows.
func TestOfItsKnowledge(t *testing.T) {
	const user, controller = "user kubectl ", "manager-0 statefulset-controller "
	const collector, podCollector, nodes = "manager-0 generic-garbage-collector ", "manager-0 pod-garbage-collector ", "manager-0 node-controller "
	for name, row := range map[string]struct {
		first, creates, deletes string
		late                    time.Duration // until manager-0 observes the second pod
		broken, notes           int
	}{
		"both observed":                {user, user, controller, 0, 0, 0},
		"only the first observed":      {user, "!" + user, controller, 0, 0, 1},
		"second observed too late":     {user, user, controller, time.Minute, 0, 1},
		"none observed":                {"!" + user, "!" + user, controller, 0, 1, 0},
		"by a controller of no pods":   {user, "!" + user, nodes, 0, 1, 0},
		"its own pod":                  {user, "!" + controller, controller, 0, 0, 0},
		"by a user":                    {user, "!" + user, user, 0, 0, 0},
		"by the garbage collector":     {user, "!" + user, collector, 0, 0, 0},
		"by the pod garbage collector": {user, "!" + user, podCollector, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := "pods/r/a "+pod("1", "", "", "Failed")+"\n", "pods/r/a "+pod("2", "", "", "Running")+"\n"
			seen := recorded(t, row.first+first+row.first+"pods/r/a -\n"+row.creates+second+"!"+row.deletes+"pods/r/a -")
			notes := 0
			seen.Unjudged = func(string, string) { notes++ }
			if row.late > 0 {
				seen.Histories["pods"].Streams[0].Events[2].Time += int64(row.late)
			}
			require.Equal(t, row.broken, brokenOf(t, seen, "OfItsKnowledge"))
			require.Equal(t, row.notes, notes)
		})
	}
}

// After a conflict and a second comparison, the garbage collector deletes an object even if its owner references change meanwhile (finding 12):
// those of a pod change at 80 s.
func TestReferredUnseen(t *testing.T) {
	const collector, controller, key = "generic-garbage-collector", "replicaset-controller", "pods/r/p"
	object := func(owners string) string {
		return key + " " + pod("p", `,"namespace":"r","name":"p"`+owners, "", "") + "\n"
	}
	adopted, orphan := object(ownedBy("s")), object("")
	conflict := beforehand(model.Delete, collector, key, 65, 409)
	read, late := beforehand(model.Get, collector, key, 70, 200), beforehand(model.Get, collector, key, 85, 200)
	read.Op.ResultRV, late.Op.ResultRV = 3, 4
	for name, row := range map[string]struct {
		before  []*importer.Told
		becomes string
		broken  int
	}{
		"after a conflict":                {[]*importer.Told{conflict, read}, adopted, 0},
		"adopted before the second read":  {[]*importer.Told{conflict, late}, adopted, 1},
		"without a conflict":              {[]*importer.Told{read}, adopted, 1},
		"conflict of another controller":  {[]*importer.Told{beforehand(model.Delete, controller, key, 65, 409), read}, adopted, 1},
		"conflict without a second read":  {[]*importer.Told{conflict}, adopted, 1},
		"orphaned after a conflict":       {[]*importer.Told{conflict, read, beforehand(model.Update, collector, key, 80, 200)}, orphan, 0},
		"orphaned before the second read": {[]*importer.Told{conflict, late}, orphan, 1},
	} {
		t.Run(name, func(t *testing.T) {
			seen := recorded(t, at(space+ownerSet+object(ownedBy("gone"))+row.becomes, collector, key+" -"), row.before...)
			pods := seen.Histories["pods"]
			pods.Operations = slices.DeleteFunc(pods.Operations, func(op model.Operation) bool { return op.ResultRV == 4 }) // the answer to a patch counts as a read
			require.Equal(t, row.broken, brokenOf(t, seen, "OwnedIsKept"))
		})
	}
}

// space is a namespace, and ownerSet a replica set in it.
const (
	space    = `namespaces/r {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"r","uid":"n"}}` + "\n"
	ownerSet = `replicasets/r/s {"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"namespace":"r","name":"s","uid":"s"}}` + "\n"
)

// ownedBy returns metadata with that replica set, or one with another UID, as the controller.
func ownedBy(uid string) string {
	return `,"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"s","uid":"` + uid + `","controller":true}]`
}
