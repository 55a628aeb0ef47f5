package controlplane_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
)

// managerLeads says that manager-0 is the leading controller manager.
const managerLeads = `leases/kube-system/kube-controller-manager {"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"uid":"l"},"spec":{"holderIdentity":"manager-0_1"}}` + "\n"

// Overdue state fails the run if the controller had observed its cause, and not if that came and went before the controller listed.
func TestOverdue(t *testing.T) {
	owner := func(rv int64, uid string, deleted bool) model.Change {
		return model.Change{RV: rv, Deleted: deleted, Object: model.Object{Namespace: "r", Name: "set", UID: uid, RV: rv}}
	}
	event := func(kind model.EventType, uid string) model.Event {
		return model.Event{Type: kind, Object: &model.Object{Namespace: "r", Name: uid, UID: uid}}
	}
	const listed model.EventType = "LISTED"
	orphan := func(w *world) { w.pod.OwnerReferences[0].UID = "old" }
	short := func(w *world) { w.set.Spec.Replicas = new(int32(2)) }
	ahead := func(w *world) { w.stateful.Status.ObservedGeneration++ }
	daemon := func(w *world) { w.daemon.Status.ObservedGeneration++ }
	fewer := func(w *world) { w.daemon.Status.DesiredNumberScheduled = 0 }
	oldDaemon, newDaemon := `daemonsets/r/daemon {"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"uid":"old"},"spec":{}}`, `daemonsets/r/daemon {"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"uid":"daemon"},"spec":{}}`
	oldDaemons := []model.Change{owner(2, "old", false), owner(4, "old", true), owner(5, "daemon", false)}
	podOn := func(uid, owner string) string {
		return "pods/r/" + uid + " " + pod(uid, owned("DaemonSet", owner), bound, "")
	}
	behind := func(w *world) { w.stateful.Spec.Replicas = new(int32(2)) }
	held := func(finalizer string) func(*world) {
		return func(w *world) {
			w.set.DeletionTimestamp, w.set.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{finalizer}
		}
	}
	lines := func(l ...string) string { return strings.Join(l, "\n") }
	const tracked = `,"finalizers":["batch.kubernetes.io/job-tracking"]`
	kept := func(w *world) {
		w.pod.DeletionTimestamp, w.pod.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{batchv1.JobTrackingFinalizer}
		w.pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job", Controller: new(true)}}
	}
	keeps := func(spec string) string {
		return lines("jobs/r/job "+strings.NewReplacer(`"completions":2`, spec, `"j"`, `"job"`).Replace(job("")),
			"pods/r/p "+pod("p", owned("Job", "job"), "", ""), "pods/r/p "+pod("p", dying+tracked+owned("Job", "job"), "", "Failed"))
	}
	replaced := []model.Change{owner(1, "old", false), owner(2, "old", true), owner(3, "set", false)}
	created := "replicasets/r/set " + strings.Replace(set, `"uid":"s"`, `"uid":"set"`, 1) + "\npods/r/p " + pod("p", owned("ReplicaSet", "set"), "", "") + "\npods/r/p -"
	ended := strings.TrimSuffix(created, "\npods/r/p -") + "\npods/r/p " + pod("p", dying+owned("ReplicaSet", "set"), "", "") + "\npods/r/p -"
	oldSet, newSet := "replicasets/r/set "+strings.Replace(set, `"uid":"s"`, `"namespace":"r","name":"set","uid":"old"`, 1), "replicasets/r/set "+strings.Replace(set, `"uid":"s"`, `"namespace":"r","name":"set","uid":"set"`, 1)
	podOfOld := "pods/r/p " + pod("p", owned("ReplicaSet", "old"), "", "")
	at := func(rv int64, e model.Event) model.Event {
		e.RV = rv
		return e
	}
	for name, row := range map[string]struct {
		wrong  func(*world)
		states string
		owners []model.Change
		told   []model.Event
		holds  bool
		fails  int    // refused requests for the stateful set; below zero, deletions of absent pods
		gone   string // the controller that deleted the pod
	}{
		"owner recreated before a relist":            {orphan, "", []model.Change{owner(1, "old", false), owner(2, "old", true), owner(3, "new", false)}, []model.Event{event(model.Added, "old"), event(model.Modified, "new")}, false, 0, ""},
		"owner recreated, deletion observed":         {orphan, "", []model.Change{owner(1, "old", false), owner(2, "old", true), owner(3, "new", false)}, []model.Event{event(model.Added, "old"), event(model.Deleted, "old"), event(model.Added, "new")}, true, 0, ""},
		"owner not recreated":                        {orphan, "", []model.Change{owner(1, "old", false), owner(2, "old", true)}, []model.Event{event(model.Added, "old")}, true, 0, ""},
		"owner reference renamed":                    {orphan, lines("pods/r/pod "+pod("pod", owned("Job", "old"), "", ""), "pods/r/pod "+pod("pod", "", "", ""), "pods/r/pod "+pod("pod", owned("ReplicaSet", "old"), "", "")), nil, nil, false, 0, ""},
		"renamed, removal observed by a watch":       {orphan, lines("pods/r/pod "+pod("pod", owned("Job", "old"), "", ""), "pods/r/pod "+pod("pod", "", "", ""), "pods/r/pod "+pod("pod", owned("ReplicaSet", "old"), "", "")), nil, []model.Event{at(3, event(model.Modified, "pod"))}, true, 0, ""},
		"renamed, removal observed by a list":        {orphan, lines("pods/r/pod "+pod("pod", owned("Job", "old"), "", ""), "pods/r/pod "+pod("pod", "", "", ""), "pods/r/pod "+pod("pod", owned("ReplicaSet", "old"), "", "")), nil, []model.Event{at(3, event(listed, "pod"))}, true, 0, ""},
		"removed and restored, same name":            {orphan, lines(oldSet, "pods/r/pod "+pod("pod", owned("ReplicaSet", "old"), "", ""), "pods/r/pod "+pod("pod", "", "", ""), "pods/r/pod "+pod("pod", owned("ReplicaSet", "old"), "", "")), nil, nil, true, 0, ""},
		"owner recreated, never observed":            {orphan, "", []model.Change{owner(1, "old", false), owner(2, "old", true), owner(3, "new", false)}, []model.Event{event(model.Added, "new")}, true, 0, ""},
		"recreated before a relist, then deleted":    {held("orphan"), "", replaced, []model.Event{event(model.Added, "old"), event(model.Modified, "set")}, false, 0, ""},
		"recreated, deletion observed, then deleted": {held("orphan"), "", replaced, []model.Event{event(model.Added, "old"), event(model.Deleted, "old"), event(model.Added, "set")}, true, 0, ""},
		"terminating, another finalizer":             {held("else"), "", replaced, []model.Event{event(model.Added, "old"), event(model.Modified, "set")}, true, 0, ""},
		"pod created and deleted before a list":      {short, created, nil, []model.Event{event(model.Added, "another")}, false, 0, ""},
		"pod terminating when first observed":        {short, ended, nil, []model.Event{at(4, event(model.Added, "p"))}, false, 0, ""},
		"pod observed before its deletion":           {short, ended, nil, []model.Event{at(3, event(model.Added, "p"))}, true, 0, ""},
		"pod observed, then removed":                 {short, created, nil, []model.Event{at(3, event(model.Added, "p"))}, true, 0, ""},
		"unobserved pod still exists":                {short, strings.TrimSuffix(created, "\npods/r/p -"), nil, []model.Event{event(model.Added, "another")}, true, 0, ""},
		"kept by a job that expects it":              {kept, keeps(`"backoffLimitPerIndex":1`), nil, []model.Event{at(4, event(model.Added, "p"))}, false, 0, ""},
		"kept by a job that has observed it":         {kept, keeps(`"backoffLimitPerIndex":1`), nil, []model.Event{at(3, event(model.Added, "p"))}, true, 0, ""},
		"kept by a job without a limit per index":    {kept, keeps(`"completions":2`), nil, []model.Event{at(4, event(model.Added, "p"))}, true, 0, ""},
		"missing pod without a cause":                {short, "", nil, []model.Event{event(model.Added, "another")}, true, 0, ""},
		"pod created after its set was deleted":      {short, lines(oldSet, "replicasets/r/set -", podOfOld, newSet), []model.Change{owner(2, "old", false), owner(3, "old", true), owner(5, "set", false)}, []model.Event{at(4, event(model.Added, "p"))}, false, 0, ""},
		"pod created before its set was deleted":     {short, lines(oldSet, podOfOld, "replicasets/r/set -", newSet), []model.Change{owner(2, "old", false), owner(4, "old", true), owner(5, "set", false)}, []model.Event{at(3, event(model.Added, "p"))}, true, 0, ""},
		"pod deleted after its set":                  {short, lines(oldSet, podOfOld, "replicasets/r/set -", "pods/r/p -", newSet), []model.Change{owner(2, "old", false), owner(4, "old", true), owner(6, "set", false)}, []model.Event{at(3, event(model.Added, "p"))}, false, 0, "replicaset-controller"},
		"pod deleted before its set":                 {short, lines(oldSet, podOfOld, "pods/r/p -", "replicasets/r/set -", newSet), []model.Change{owner(2, "old", false), owner(5, "old", true), owner(6, "set", false)}, []model.Event{at(3, event(model.Added, "p"))}, true, 0, "replicaset-controller"},
		"adopted pod deleted after its set":          {short, lines(oldSet, "pods/r/p "+pod("p", owned("Job", "older"), "", ""), podOfOld, "replicasets/r/set -", "pods/r/p -", newSet), []model.Change{owner(2, "old", false), owner(5, "old", true), owner(7, "set", false)}, []model.Event{at(3, event(model.Added, "p"))}, false, 0, "replicaset-controller"},
		"pod garbage-collected after its set":        {short, lines(oldSet, podOfOld, "replicasets/r/set -", "pods/r/p -", newSet), []model.Change{owner(2, "old", false), owner(4, "old", true), owner(6, "set", false)}, []model.Event{at(3, event(model.Added, "p"))}, true, 0, "generic-garbage-collector"},
		"predecessor's daemon left later":            {fewer, lines(oldDaemon, podOn("p", "old"), "daemonsets/r/daemon -", newDaemon, "pods/r/p -"), oldDaemons, nil, false, 0, ""},
		"predecessor's daemon left earlier":          {fewer, lines(oldDaemon, podOn("p", "old"), "daemonsets/r/daemon -", "pods/r/p -", newDaemon), oldDaemons, nil, true, 0, ""},
		"predecessor's daemon left, replaced":        {fewer, lines(oldDaemon, podOn("p", "old"), "daemonsets/r/daemon -", newDaemon, "pods/r/p -", podOn("q", "daemon")), oldDaemons, nil, true, 0, ""},
		"status of the predecessor":                  {ahead, "", replaced, nil, false, 0, ""},
		"status of the predecessor, daemon set":      {daemon, "", replaced, nil, false, 0, ""},
		"status ahead without a predecessor":         {ahead, "", nil, nil, true, 0, ""},
		"status of the predecessor, pod missing":     {func(w *world) { ahead(w); behind(w) }, "", replaced, nil, true, 0, ""},
		"stateful set in long backoff":               {behind, "", nil, nil, false, 14, ""},
		"stateful set in short backoff":              {behind, "", nil, nil, true, 13, ""},
		"stateful set that deleted absent pods":      {behind, "", nil, nil, true, -14, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled()
			row.wrong(w)
			late := controlplane.Late(w.settles(t), time.Hour, 0)
			require.Error(t, late)
			committed := states(t, managerLeads+row.states)
			sets := &model.History{Truth: model.Truth{Changes: row.owners}}
			sets.Streams = []model.Stream{{ID: 1, Client: "manager-0", Call: 1, Events: row.told}}
			others := &model.History{Truth: model.Truth{Changes: slices.Clone(row.owners)}}
			for i := range others.Truth.Changes {
				others.Truth.Changes[i].Object.Name = []string{"daemon", "stateful"}[i%2]
			}
			pods := &model.History{Streams: sets.Streams}
			if strings.Contains(row.states, "pods/r/p ") {
				first := slices.IndexFunc(committed.Changes, func(c model.Change) bool { return c.Object.UID == "p" || strings.Contains(c.Object.Value, `"uid":"p"`) })
				pods.Operations = []model.Operation{{Kind: model.Create, Client: "manager-0", ResultRV: committed.Changes[first].RV}}
			}
			for _, e := range row.told {
				if e.Type == listed {
					e.Object.RV = e.RV
					pods.Streams, pods.Operations = nil, []model.Operation{{Kind: model.List, Client: "manager-0", Objects: []model.Object{*e.Object}}}
				}
			}
			requests := map[string][]*importer.Told{}
			for range -row.fails {
				asked := importer.Exchange{Kind: model.Delete, Client: "manager-0", Agent: "kubernetes/1/statefulset-controller", Code: 404}
				asked.Scope = model.Scope{Namespace: "r", Name: "stateful-1"}
				requests["pods"] = append(requests["pods"], &importer.Told{Exchange: asked})
			}
			for i := range max(row.fails, 0) {
				of := []string{"pods", "pods", "statefulsets.apps"}[i%3]
				asked := importer.Request{Scope: model.Scope{Namespace: "r", Name: map[string]string{"pods": "stateful-1", "statefulsets.apps": "stateful"}[of]}}
				requests[of] = append(requests[of], &importer.Told{Exchange: importer.Exchange{Request: asked, Client: "manager-0", Agent: "kubernetes/1/statefulset-controller", Code: []int{409, 403}[i%2]}})
			}
			if row.gone != "" {
				last := slices.IndexFunc(committed.Changes, func(c model.Change) bool { return c.Deleted && strings.HasPrefix(c.Object.Name, "/registry/pods/") })
				pods.Operations = append(pods.Operations, model.Operation{Kind: model.Delete, Client: "manager-0", Call: 9, ResultRV: committed.Changes[last].RV})
				requests["pods"] = append(requests["pods"], &importer.Told{Exchange: importer.Exchange{Client: "manager-0", Call: 9, Agent: "kubernetes/1/" + row.gone}})
			}
			var noted []string
			plane := &controlplane.Plane{}
			plane.SetOverdue(late)
			seen := simtest.Seen{
				Committed: committed, Histories: map[string]*model.History{"replicasets.apps": sets, "statefulsets.apps": others, "daemonsets.apps": others, "pods": pods}, Requests: requests,
				Unjudged: func(_, why string) { noted = append(noted, why) },
			}
			broken, err := plane.Broken(seen)
			require.NoError(t, err)
			if !row.holds {
				require.Empty(t, broken)
				require.Len(t, noted, 1)
				if _, finding, is := strings.Cut(strings.TrimSuffix(noted[0], ")"), "(finding "); is {
					t.Setenv(mutant.Variable, "fix-finding-1"+finding)
					broken, err = plane.Broken(seen)
					require.NoError(t, err)
					require.Empty(t, broken, "the fix of another finding is on")
					t.Setenv(mutant.Variable, "CT03,fix-finding-"+finding)
					broken, err = plane.Broken(seen)
					require.NoError(t, err)
					require.Len(t, broken, 1, "its fix is on, and what it describes shows")
					require.Len(t, noted, 2)
				}
				return
			}
			require.Len(t, broken, 1)
			require.True(t, strings.HasPrefix(broken[0], late.Error()+"\n    manager-0 leads"), broken[0])
			require.Empty(t, noted)
		})
	}
}

// An API server that gets a conflict while it finalises a definition gives up (finding 58).
func TestContendedDefinition(t *testing.T) {
	const write, gone = `apiextensions.k8s.io/customresourcedefinitions/customs.example.com {}` + "\n", "apiextensions.k8s.io/customresourcedefinitions/customs.example.com -\n"
	for name, row := range map[string]struct {
		states string
		fixes  string
		going  bool
		holds  bool
	}{
		"contended":                     {strings.Repeat(write, 6), "fix-finding-57", true, false},
		"written once by an API server": {strings.Repeat(write, 5), "", true, true},
		"contended, and recreated":      {strings.Repeat(write, 6) + gone + write, "", true, true},
		"another one is contended":      {strings.ReplaceAll(strings.Repeat(write, 6), "customs.", "another."), "", true, true},
		"contended, with the fix":       {strings.Repeat(write, 6), "fix-finding-58", true, true},
		"not deleted":                   {strings.Repeat(write, 6), "", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(mutant.Variable, row.fixes)
			w := settled()
			if row.going {
				w.definition.DeletionTimestamp = new(metav1.Now())
			} else {
				w.unserved = true
			}
			plane, noted := &controlplane.Plane{}, 0
			plane.SetOverdue(controlplane.Late(w.settles(t), time.Hour, 0))
			require.ErrorContains(t, plane.Overdue(), "customs.example.com")
			broken, err := plane.Broken(simtest.Seen{Committed: states(t, row.states), Unjudged: func(string, string) { noted++ }})
			require.NoError(t, err)
			require.Equal(t, row.holds, len(broken) == 1, broken)
			require.Equal(t, row.holds, noted == 0)
		})
	}
}

// A budget counts too many pods: since its last change, the labels of a pod have changed so that it no longer selects the pod.
func TestBudgetCountsARelabelledPod(t *testing.T) {
	const (
		budget = `poddisruptionbudgets/r/budget {"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"namespace":"r","name":"budget"}}` + "\n"
		gone   = "pods/r/p -\n"
	)
	in := func(space, labels string) string {
		return "pods/" + space + "/p " + pod("p", fmt.Sprintf(`,"namespace":%q,"name":"p","labels":{%s}`, space, labels), "", "") + "\n"
	}
	selected, other, both := in("r", `"app":"a"`), in("r", `"app":"b"`), in("r", `"app":"a","debug":"yes"`)
	tooMany := func(w *world) { w.budget.Status.CurrentHealthy = 2 }
	for name, row := range map[string]struct {
		states, fix string
		wrong       func(*world)
		excused     bool
	}{
		"relabelled after the budget's last change": {managerLeads + selected + budget + other, "", tooMany, true},
		"label removed":                                 {managerLeads + selected + budget + in("r", ""), "", tooMany, true},
		"relabelled, then deleted":                      {managerLeads + selected + budget + other + gone, "", tooMany, true},
		"relabelled before the budget's last change":    {managerLeads + selected + other + budget, "", tooMany, false},
		"only another budget has changed since":         {managerLeads + selected + budget + other + strings.Replace(budget, "/budget", "/another", 1), "", tooMany, true},
		"deleted":                                       {managerLeads + selected + budget + gone, "", tooMany, false},
		"deleted and recreated with another label":      {managerLeads + selected + budget + gone + other, "", tooMany, false},
		"another label added":                           {managerLeads + selected + budget + both, "", tooMany, false},
		"relabelled so that the budget selects it":      {managerLeads + other + budget + selected, "", tooMany, false},
		"relabelled, selected neither before nor after": {managerLeads + other + budget + in("r", `"app":"c"`), "", tooMany, false},
		"relabelled in another namespace":               {managerLeads + in("b", `"app":"a"`) + budget + in("b", `"app":"b"`), "", tooMany, false},
		"budget counts too few":                         {managerLeads + selected + budget + other, "", func(w *world) { w.budget.Status.CurrentHealthy = 0 }, false},
		"budget's generation not observed":              {managerLeads + selected + budget + other, "", func(w *world) { tooMany(w); w.budget.Generation = 2 }, false},
		"budget terminating": {managerLeads + selected + budget + other, "", func(w *world) {
			w.budget.DeletionTimestamp, w.budget.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"f"}
		}, false},
		"no leader":     {selected + budget + other, "", tooMany, false},
		"the fix is on": {managerLeads + selected + budget + other, "fix-finding-33", tooMany, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(mutant.Variable, row.fix)
			w := settled()
			row.wrong(w)
			late := controlplane.Late(w.settles(t), time.Hour, 0)
			require.ErrorContains(t, late, "r/budget")
			noted := 0
			plane := &controlplane.Plane{}
			plane.SetOverdue(late)
			broken, err := plane.Broken(simtest.Seen{
				Committed: states(t, row.states), Histories: map[string]*model.History{"pods": {}},
				Unjudged: func(resource, why string) {
					require.Equal(t, "poddisruptionbudgets.policy", resource)
					require.Contains(t, why, "(finding 33)")
					noted++
				},
			})
			require.NoError(t, err)
			require.Equal(t, row.excused, noted == 1)
			require.Len(t, broken, 1-noted)
		})
	}
}

// isFinding checks that what is late is noted as a finding if it is excused, and fails the run otherwise, as it does with the fix.
func isFinding(t *testing.T, late error, seen simtest.Seen, finding int, excused bool) {
	t.Helper()
	var noted []string
	seen.Unjudged = func(_, why string) { noted = append(noted, why) }
	plane := &controlplane.Plane{}
	plane.SetOverdue(late)
	broken, err := plane.Broken(seen)
	require.NoError(t, err)
	if excused {
		require.Empty(t, broken)
		require.Len(t, noted, 1)
		require.Contains(t, noted[0], fmt.Sprintf("(finding %d)", finding))
	} else {
		require.Len(t, broken, 1)
		require.Empty(t, noted)
	}
	t.Setenv(mutant.Variable, fmt.Sprintf("fix-finding-%d", finding))
	broken, err = plane.Broken(seen)
	require.NoError(t, err)
	require.Len(t, broken, 1)
}
