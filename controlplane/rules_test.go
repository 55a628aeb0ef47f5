package controlplane_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
)

// states are values that keys of etcd hold one after the other, as "key value"; a value - is
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

// pod is a value: its UID, the rest of its metadata, its specification and its phase.
func pod(uid, metadata, spec, phase string) string {
	return `{"apiVersion":"v1","kind":"Pod","metadata":{"uid":"` + uid + `"` + metadata + `},"spec":{` + spec + `},"status":{"phase":"` + phase + `"}}`
}

// owned is the metadata of what a controller has created.
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

func job(status string) string {
	return `{"apiVersion":"batch/v1","kind":"Job","metadata":{"uid":"j"},"spec":{"completions":2},"status":{` + status + `}}`
}

// ended is a pod of that job that has come to its end.
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

func TestRules(t *testing.T) {
	for name, test := range map[string]struct{ states, broken string }{
		"a config map passes its webhook": {"configmaps/r/c " + configMap("fail", "yes"), ""},
		"a config map passes none":        {"configmaps/r/c " + configMap("fail", ""), "AdmittedFirst"},
		"a config map need not":           {"configmaps/r/c " + configMap("ignore", ""), ""},
		"a pod is bound":                  {"pods/r/a " + pod("1", "", "", "") + "\npods/r/a " + pod("1", "", bound, ""), ""},
		"a pod is moved":                  {"pods/r/a " + pod("1", "", bound, "") + "\npods/r/a " + pod("1", "", `"nodeName":"m"`, ""), "BoundOnce"},
		"another pod of that name":        {"pods/r/a " + pod("1", "", bound, "") + "\npods/r/a " + pod("2", "", `"nodeName":"m"`, ""), ""},
		"a pod fails":                     {"pods/r/a " + pod("1", "", "", "Running") + "\npods/r/a " + pod("1", "", "", "Failed"), ""},
		"a failed pod runs again":         {"pods/r/a " + pod("1", "", "", "Failed") + "\npods/r/a " + pod("1", "", "", "Running"), "EndIsFinal"},
		"a full node":                     {"minions/n " + node + "\npods/r/a " + pod("1", "", half, "") + "\npods/r/b " + pod("2", "", half, ""), ""},
		"too much processor":              {"minions/n " + node + "\npods/r/a " + pod("1", "", half, "") + "\npods/r/b " + pod("2", "", most, ""), "Fits"},
		"after another pod has ended":     {"minions/n " + node + "\npods/r/a " + pod("1", "", half, "Failed") + "\npods/r/b " + pod("2", "", most, ""), ""},
		"too many pods":                   {"minions/n " + node + "\npods/r/a " + pod("1", "", bound, "") + "\npods/r/b " + pod("2", "", bound, "") + "\npods/r/c " + pod("3", "", bound, ""), "Fits"},
		"a replica":                       {"replicasets/r/s " + set + "\npods/r/a " + pod("1", owned("ReplicaSet", "s"), "", ""), ""},
		"a second replica":                {"replicasets/r/s " + set + "\npods/r/a " + pod("1", owned("ReplicaSet", "s"), "", "") + "\npods/r/b " + pod("2", owned("ReplicaSet", "s"), "", ""), "NoExtraReplica"},
		"one for a pod that is deleted":   {"replicasets/r/s " + set + "\npods/r/a " + pod("1", dying+owned("ReplicaSet", "s"), "", "") + "\npods/r/b " + pod("2", owned("ReplicaSet", "s"), "", ""), ""},
		"one for a pod that is gone":      {"replicasets/r/s " + set + "\npods/r/a " + pod("1", owned("ReplicaSet", "s"), "", "") + "\npods/r/a -\npods/r/b " + pod("2", owned("ReplicaSet", "s"), "", ""), ""},
		"two pods of a daemon set":        {"pods/r/a " + pod("1", owned("DaemonSet", "d"), forNode, "") + "\npods/r/b " + pod("2", owned("DaemonSet", "d"), forNode, ""), "OnePerNode"},
		"pods of two daemon sets":         {"pods/r/a " + pod("1", owned("DaemonSet", "d"), forNode, "") + "\npods/r/b " + pod("2", owned("DaemonSet", "e"), forNode, ""), ""},
		"a pod beside one of a job":       {"pods/r/a " + pod("1", owned("Job", "j"), "", "") + "\npods/r/a " + pod("1", owned("DaemonSet", "d"), bound, "") + "\npods/r/b " + pod("2", owned("DaemonSet", "d"), forNode, ""), ""},
		"a pod of a job":                  {"jobs/r/j " + job("") + "\npods/r/a " + pod("1", owned("Job", "j"), "", ""), ""},
		"a pod of a job that is over":     {"jobs/r/j " + job(`"conditions":[{"type":"Complete","status":"True"}]`) + "\npods/r/a " + pod("1", owned("Job", "j"), "", ""), "JobIsOver"},
		"a job counts":                    {done + "jobs/r/j " + job(`"succeeded":1`) + "\njobs/r/j " + job(`"succeeded":2`), ""},
		"a job counts down":               {done + "jobs/r/j " + job(`"failed":2`) + "\njobs/r/j " + job(`"failed":1`), "JobCounts"},
		"a job counts a pod twice":        {strings.TrimPrefix(done, ended("a", "Succeeded")) + "jobs/r/j " + job(`"succeeded":2`), "JobCounts"},
		"a job counts a failure twice":    {strings.TrimSuffix(done, ended("d", "Failed")) + "jobs/r/j " + job(`"failed":2`), "JobCounts"},
		"a job counts a pod that is gone": {"pods/r/a " + pod("a", owned("Job", "j"), "", "Running") + "\npods/r/a -\njobs/r/j " + job(`"failed":1`), ""},
		"one that has failed since":       {ended("a", "Succeeded") + ended("a", "Failed") + "jobs/r/j " + job(`"succeeded":1`), "EndIsFinal"},
		"a job counts too far":            {"jobs/r/j " + job(`"succeeded":3`), "JobCounts"},
	} {
		t.Run(name, func(t *testing.T) {
			breaks(t, simtest.Seen{Committed: states(t, test.states)}, test.broken)
		})
	}
}

// A controller whose create got no answer creates another pod, and breaks no rule.
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

// Leases and jobs are judged by who wrote them, and when: each line of states is a request that takes a
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
	// dependent belongs to what has this kind, name and UID, and right to that owner.
	dependent := func(kind, name, uid string) string {
		return `configmaps/r/d {"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"r","name":"d","uid":"d","ownerReferences":[{"apiVersion":"v1","kind":"` +
			kind + `","name":"` + name + `","uid":"` + uid + `"}]}}`
	}
	right := dependent("ConfigMap", "o", "o")
	// charged is a quota that an API server charges, which is no client; count is what a controller writes later.
	charged := func(hard string) string {
		return "resourcequotas/r/q " + quota(hard, "0") + "\nresourcequotas/r/q " + quota(hard, "1") + "\n"
	}
	two, count := "pods/r/a "+pod("1", "", "", "")+"\npods/r/b "+pod("2", "", "", "")+"\n", "resourcequotas/r/q "+quota("2", "2")
	// health is a node's, as its Ready condition has it.
	health := func(ready string) string {
		return `minions/n {"apiVersion":"v1","kind":"Node","metadata":{"name":"n","uid":"u"},"status":{"conditions":[{"type":"Ready","status":"` + ready + `"}]}}` + "\n"
	}
	// renewed is a node that renews its lease and is declared silent later.
	renewed := health("True") + `leases/kube-node-lease/n {"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"uid":"l"}}` + "\n" + health("Unknown")
	for name, test := range map[string]struct {
		states   string
		requests []request
		broken   string
	}{
		"a node that is silent":             {renewed, []request{{"node-0", 0}, {"node-0", 10}, {manager, 62}}, ""},
		"a node that is not silent":         {renewed, []request{{"node-0", 0}, {"node-0", 10}, {manager, 55}}, "NodeIsSilent"},
		"a node that speaks up meanwhile":   {renewed, []request{{"node-0", 0}, {"node-0", 10}, {manager, 12}}, ""},
		"a lease is renewed":                {lease("a") + "\n" + lease("a"), []request{{scheduler, 0}, {scheduler, 2}}, ""},
		"a lease expires":                   {lease("a") + "\n" + lease("b"), []request{{scheduler, 0}, {other, 15}}, ""},
		"a lease is taken":                  {lease("a") + "\n" + lease("b"), []request{{scheduler, 0}, {other, 13}}, "LeaseHeld"},
		"a lease is taken once more":        {lease("b") + "\n" + lease("a") + "\n" + lease("b"), []request{{other, 0}, {scheduler, 20}, {other, 25}}, "LeaseHeld"},
		"a lease is given up":               {lease("a") + "\n" + lease("") + "\n" + lease("b"), []request{{scheduler, 0}, {scheduler, 2}, {other, 4}}, ""},
		"a leader acts":                     {lease("scheduler-0_1") + "\n" + change, []request{{scheduler, 0}, {scheduler, 2}}, ""},
		"who does not lead acts":            {lease("scheduler-0_1") + "\n" + lease("scheduler-1_1") + "\n" + change, []request{{scheduler, 0}, {other, 20}, {scheduler, 22}}, "LeaderActs"},
		"who led acted before":              {lease("scheduler-0_1") + "\n" + lease("scheduler-1_1") + "\n" + change, []request{{scheduler, 0}, {other, 20}, {scheduler, 20}}, ""},
		"another life of a leader acts":     {lease("scheduler-0_1") + "\n" + lease("scheduler-0_2") + "\n" + change, []request{{scheduler, 0}, {scheduler, 20}, {scheduler, 22}}, ""},
		"a lease is given up too early":     {lease("scheduler-0_1") + "\n" + lease("") + "\n" + change, []request{{scheduler, 0}, {scheduler, 2}, {scheduler, 4}}, "LeaderActs"},
		"who leads nothing acts":            {lease("scheduler-0_1") + "\n" + lease("scheduler-1_1") + "\n" + change, []request{{scheduler, 0}, {other, 20}, {user, 22}}, ""},
		"a job is deleted by a user":        {"jobs/r/j " + job("") + "\njobs/r/j -", []request{{user, 0}, {user, 1}}, ""},
		"a job is deleted before its end":   {"jobs/r/j " + job("") + "\njobs/r/j -", []request{{user, 0}, {manager, 1}}, "JobIsKept"},
		"a job is deleted after its end":    {"jobs/r/j " + job(`"conditions":[{"type":"Failed","status":"True"}]`) + "\njobs/r/j -", []request{{user, 0}, {manager, 1}}, ""},
		"a job goes with its namespace":     {"namespaces/r " + strings.Replace(namespace, `"uid":"n"`, `"uid":"n"`+dying, 1) + "\njobs/r/j " + job("") + "\njobs/r/j -", []request{{manager, 0}, {user, 1}, {manager, 2}}, ""},
		"a job that is marked for deletion": {"jobs/r/j " + strings.Replace(job(""), `"uid":"j"`, `"uid":"j"`+dying, 1) + "\njobs/r/j -", []request{{user, 0}, {manager, 1}}, ""},
		"what an owner had is collected":    {space + "configmaps/r/o -\n" + right + "\nconfigmaps/r/d -", []request{{user, 0}, {user, 1}, {user, 2}, {manager, 3}}, ""},
		"what has an owner is collected":    {space + owner("") + "\n" + right + "\nconfigmaps/r/d -", []request{{user, 0}, {user, 1}, {user, 2}, {manager, 3}}, "OwnedIsKept"},
		"what has an owner is deleted":      {space + owner("") + "\n" + right + "\nconfigmaps/r/d -", []request{{user, 0}, {user, 1}, {user, 2}, {user, 3}}, ""},
		"what has no owner is collected":    {space + owner("") + "\nconfigmaps/r/o -", []request{{user, 0}, {user, 1}, {manager, 2}}, "OwnedIsKept"},
		"an owner that is being deleted":    {space + owner(dying) + "\n" + right + "\nconfigmaps/r/d -", []request{{user, 0}, {user, 1}, {user, 2}, {manager, 3}}, ""},
		"an owner of another name":          {space + owner("") + "\n" + dependent("ConfigMap", "p", "o") + "\nconfigmaps/r/d -", []request{{user, 0}, {user, 1}, {user, 2}, {manager, 3}}, ""},
		"an owner of another kind":          {space + owner("") + "\n" + dependent("Secret", "o", "o") + "\nconfigmaps/r/d -", []request{{user, 0}, {user, 1}, {user, 2}, {manager, 3}}, ""},
		"an owner with another UID":         {space + owner("") + "\n" + dependent("ConfigMap", "o", "p") + "\nconfigmaps/r/d -", []request{{user, 0}, {user, 1}, {user, 2}, {manager, 3}}, ""},
		"a quota is charged":                {charged("2") + change + "\n" + two + count, []request{{user, 0}, {"", 1}, {user, 2}, {user, 4}, {user, 5}, {manager, 6}}, ""},
		"a quota is not heeded":             {charged("2") + change + "\n" + two + "pods/r/c " + pod("4", "", "", "") + "\n" + count, []request{{user, 0}, {"", 1}, {user, 2}, {user, 4}, {user, 5}, {user, 6}, {manager, 7}}, "WithinQuota"},
		"a quota that is charged again":     {charged("9") + "resourcequotas/r/q " + quota("9", "2"), []request{{user, 0}, {"", 1}, {"", 2}}, ""},
		"a quota that is charged less":      {charged("9") + "resourcequotas/r/q " + quota("9", "2") + "\nresourcequotas/r/q " + quota("9", "1"), []request{{user, 0}, {"", 1}, {"", 2}, {"", 3}}, "ChargesAdd"},
		"a quota that is counted again":     {charged("9") + "resourcequotas/r/q " + quota("9", "0"), []request{{user, 0}, {"", 1}, {manager, 2}}, ""},
		"a quota that nothing was charged":  {"resourcequotas/r/q " + quota("1", "0") + "\n" + two + count, []request{{user, 0}, {user, 2}, {user, 3}, {manager, 4}}, ""},
		"a quota that comes after its pods": {two + charged("1") + count, []request{{user, 0}, {user, 1}, {user, 2}, {"", 3}, {manager, 4}}, ""},
		"a quota that shrinks":              {charged("2") + change + "\n" + two + "resourcequotas/r/q " + quota("1", "2"), []request{{user, 0}, {"", 1}, {user, 2}, {user, 4}, {user, 5}, {user, 6}}, ""},
		"a node that owns":                  {space + "minions/n " + strings.Replace(node, `"name":"n"`, `"name":"n","uid":"o"`, 1) + "\n" + dependent("Node", "n", "o") + "\nconfigmaps/r/d -", []request{{user, 0}, {user, 1}, {user, 2}, {manager, 3}}, "OwnedIsKept"},
		"a namespace that is being deleted": {"namespaces/r " + strings.Replace(namespace, `"uid":"n"`, `"uid":"n"`+dying, 1) + "\n" + owner("") + "\n" + right + "\nconfigmaps/r/d -", []request{{user, 0}, {user, 1}, {user, 2}, {manager, 3}}, ""},
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

// What nobody seems to have written may be what the quota controller has, whose request got no answer.
func TestChargesAddUnlessTheControllerGotNoAnswer(t *testing.T) {
	committed := states(t, "resourcequotas/r/q "+quota("9", "2")+"\nresourcequotas/r/q "+quota("9", "1"))
	for name, broken := range map[string]int{"q": 0, "p": 1} {
		lost := importer.Told{Op: model.Operation{Err: model.Unknown}}
		lost.Scope = model.Scope{Namespace: "r", Name: name}
		seen := simtest.Seen{Committed: committed, Histories: map[string]*model.History{"resourcequotas": {}}, Requests: map[string][]*importer.Told{"resourcequotas": {&lost}}}
		require.Equal(t, broken, brokenOf(t, seen, "ChargesAdd"))
	}
}

// A node may be overbooked by pods that the scheduler which binds does not know of.
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
		"by one life": {[]*importer.Told{bind("a", here, 201), bind("b", here, 201)}, 1},
		"by two":      {[]*importer.Told{bind("a", there, 201), bind("b", here, 201)}, 0},
		"by two, one of which has listed what the other did": {[]*importer.Told{bind("a", there, 201), watch(here, model.RVUnset, 2), bind("b", here, 201)}, 1},
		"by two, one of which had listed before":             {[]*importer.Told{watch(here, model.RVUnset, 1), bind("a", there, 201), bind("b", here, 201)}, 0},
		"by two, one of which has listed what was cached":    {[]*importer.Told{bind("a", there, 201), watch(here, 0, 2), watch(here, model.RVUnset, 3), bind("b", here, 201)}, 0},
		"the first not told":                                 {[]*importer.Told{bind("a", here, 0), bind("b", here, 201)}, 0},
		"the second not told":                                {[]*importer.Told{bind("a", here, 201), bind("b", here, 0)}, 0},
		"the first bound twice":                              {[]*importer.Told{bind("a", here, 201), bind("a", here, 201), bind("b", here, 201)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			seen := simtest.Seen{Committed: committed, Histories: map[string]*model.History{}, Requests: map[string][]*importer.Told{"pods": row.requests}}
			require.Equal(t, row.broken, brokenOf(t, seen, "Fits"))
		})
	}
}

// Other controllers than the garbage collector delete what has an owner that lives: a replica set's pods, for one.
func TestOnlyTheCollectorKeepsWhatHasAnOwner(t *testing.T) {
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

// A finished job whose time is not limited any more may go only if it was read when it still was.
func TestJobIsRead(t *testing.T) {
	unlimited := "jobs/r/j " + job(`"conditions":[{"type":"Complete","status":"True"}]`) + "\n"
	limited := strings.Replace(unlimited, `"completions":2`, `"completions":2,"ttlSecondsAfterFinished":1`, 1)
	const timeToLive, collector = "ttl-after-finished-controller", "generic-garbage-collector"
	read := func(controller string, rv int64) *importer.Told {
		told := beforehand(model.Get, controller, "jobs/r/j", 50, 200)
		told.Op.Objects = []model.Object{{RV: rv}}
		return told
	}
	for name, row := range map[string]struct {
		before     []*importer.Told
		controller string
		broken     int
	}{
		"as it was":           {[]*importer.Told{read(timeToLive, 1)}, timeToLive, 0},
		"as it is":            {[]*importer.Told{read(timeToLive, 1), read(timeToLive, 2)}, timeToLive, 1},
		"by another one":      {[]*importer.Told{read(collector, 1)}, timeToLive, 1},
		"not at all":          {nil, timeToLive, 1},
		"without a time":      {nil, collector, 0},
		"as it was, at first": {[]*importer.Told{read(timeToLive, 2), read(timeToLive, 1)}, timeToLive, 0},
	} {
		t.Run(name, func(t *testing.T) {
			seen := recorded(t, at(limited+unlimited, row.controller, "jobs/r/j -"), row.before...)
			require.Equal(t, row.broken, brokenOf(t, seen, "JobIsKept"))
		})
	}
}

// What a controller deletes by a name may be another pod than it knows by that name.
func TestOfItsKnowledge(t *testing.T) {
	const user, controller = "user kubectl ", "manager-0 statefulset-controller "
	const collector, podCollector = "manager-0 generic-garbage-collector ", "manager-0 pod-garbage-collector "
	for name, row := range map[string]struct {
		creates, deletes string
		late             time.Duration // that manager-0 is told of the second pod
		broken, notes    int
	}{
		"told of both":         {user, controller, 0, 0, 0},
		"told of the first":    {"!" + user, controller, 0, 1, 0},
		"told too late":        {user, controller, time.Minute, 1, 0},
		"its own":              {"!" + controller, controller, 0, 0, 0},
		"by users":             {"!" + user, user, 0, 0, 0},
		"by the collector":     {"!" + user, collector, 0, 0, 0},
		"by the pod collector": {"!" + user, podCollector, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			first, second := "pods/r/a "+pod("1", "", "", "Failed")+"\n", "pods/r/a "+pod("2", "", "", "Running")+"\n"
			seen := recorded(t, user+first+user+"pods/r/a -\n"+row.creates+second+"!"+row.deletes+"pods/r/a -")
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

// After a conflict, the garbage collector deletes what it has compared for the second time whatever becomes of it meanwhile (finding 12):
// the references of a pod change at 80 s.
func TestReferredUnseen(t *testing.T) {
	const collector, controller, key = "generic-garbage-collector", "replicaset-controller", "pods/r/p"
	object := func(owners string) string {
		return key + " " + pod("p", `,"namespace":"r","name":"p"`+owners, "", "") + "\n"
	}
	adopted, orphan := object(ownedBy("s")), object("")
	conflict := beforehand(model.Delete, collector, key, 65, 409)
	read, late := beforehand(model.Get, collector, key, 70, 200), beforehand(model.Get, collector, key, 85, 200)
	for name, row := range map[string]struct {
		before  []*importer.Told
		becomes string
		broken  int
	}{
		"after a conflict":            {[]*importer.Told{conflict, read}, adopted, 0},
		"adopted before":              {[]*importer.Told{conflict, late}, adopted, 1},
		"without a conflict":          {[]*importer.Told{read}, adopted, 1},
		"another one's conflict":      {[]*importer.Told{beforehand(model.Delete, controller, key, 65, 409), read}, adopted, 1},
		"a conflict, and no new look": {[]*importer.Told{conflict}, adopted, 1},
		"orphaned after a conflict":   {[]*importer.Told{conflict, read, beforehand(model.Update, collector, key, 80, 200)}, orphan, 0},
		"orphaned before":             {[]*importer.Told{conflict, late}, orphan, 1},
	} {
		t.Run(name, func(t *testing.T) {
			seen := recorded(t, at(space+ownerSet+object(ownedBy("gone"))+row.becomes, collector, key+" -"), row.before...)
			require.Equal(t, row.broken, brokenOf(t, seen, "OwnedIsKept"))
		})
	}
}

// space is a namespace, and ownerSet a replica set in it.
const (
	space    = `namespaces/r {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"r","uid":"n"}}` + "\n"
	ownerSet = `replicasets/r/s {"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"namespace":"r","name":"s","uid":"s"}}` + "\n"
)

// ownedBy is the metadata of what belongs to that replica set, or to one with another UID.
func ownedBy(uid string) string {
	return `,"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"s","uid":"` + uid + `","controller":true}]`
}
