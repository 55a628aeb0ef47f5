package controlplane_test

import (
	"fmt"
	"net/http"
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

// Overdue state fails the run if the controller had observed its cause, and not if that came and went before the controller listed.
func TestOverdue(t *testing.T) {
	const lease = `leases/kube-system/kube-controller-manager {"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"uid":"l"},"spec":{"holderIdentity":"manager-0_1"}}` + "\n"
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
			committed := states(t, lease+row.states)
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
			plane.Overdue(late)
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

// A stateful set's controller retries with a growing backoff until it has observed its own writes.
func TestBackoffOfAStatefulSetWhoseControllerLags(t *testing.T) {
	const lease = `leases/kube-system/kube-controller-manager {"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"uid":"l"},"spec":{"holderIdentity":"manager-0_1"}}`
	for name, row := range map[string]struct {
		of, informers string
		lag           time.Duration
		refused       int
		holds         bool
	}{
		"observed late":                        {"stateful-1", "shared-informers", 42 * time.Second, 0, false},
		"observed earlier":                     {"stateful-1", "shared-informers", 40 * time.Second, 0, true},
		"observed earlier, and refused writes": {"stateful-1", "shared-informers", 11 * time.Second, 2, false},
		"a pod of another one":                 {"other-1", "shared-informers", 42 * time.Second, 0, true},
		"observed by another informer":         {"stateful-1", "metadata-informers", 42 * time.Second, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled()
			w.stateful.Status.Replicas = 0
			plane := &controlplane.Plane{}
			plane.Overdue(controlplane.Late(w.settles(t), time.Hour, 0))
			require.ErrorContains(t, plane.Late(), "stateful set r/stateful wants 1")
			request := func(kind model.Kind, agent, of string, code int, op model.Operation) *importer.Told {
				asked := importer.Request{Scope: model.Scope{Namespace: "r", Name: of}}
				return &importer.Told{Exchange: importer.Exchange{Request: asked, Kind: kind, Client: "manager-0", Agent: "kubernetes/1/" + agent, Code: code}, Op: op}
			}
			made := model.Operation{Kind: model.Create, ResultRV: 5}
			asked := []*importer.Told{request(model.Create, "statefulset-controller", row.of, 201, made), request(model.List, row.informers, "", 200, model.Operation{})}
			asked[1].Scope = model.Scope{}
			for range row.refused {
				asked = append(asked, request(model.Create, "statefulset-controller", row.of, 409, model.Operation{Kind: model.Create, Err: model.AlreadyExists}))
			}
			pods := &model.History{Streams: []model.Stream{{Client: "manager-0", Events: []model.Event{
				{Type: model.Added, RV: 4, Time: 0, Object: &model.Object{UID: "p"}}, {Type: model.Added, RV: 5, Time: int64(row.lag), Object: &model.Object{UID: "q"}},
			}}}}
			broken, err := plane.Broken(simtest.Seen{
				Committed: states(t, lease), Histories: map[string]*model.History{"pods": pods}, Requests: map[string][]*importer.Told{"pods": asked}, Unjudged: func(string, string) {},
			})
			require.NoError(t, err)
			require.Equal(t, row.holds, len(broken) == 1, broken)
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
			plane.Overdue(controlplane.Late(w.settles(t), time.Hour, 0))
			require.ErrorContains(t, plane.Late(), "customs.example.com")
			broken, err := plane.Broken(simtest.Seen{Committed: states(t, row.states), Unjudged: func(string, string) { noted++ }})
			require.NoError(t, err)
			require.Equal(t, row.holds, len(broken) == 1, broken)
			require.Equal(t, row.holds, noted == 0)
		})
	}
}

// A pod is pending although a node has room: the scheduler has preempted a pod whose binding had failed, and nothing has triggered a retry.
func TestPreemptionOfAPodWhoseBindingFailed(t *testing.T) {
	const lease = `leases/kube-system/%s {"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"uid":"%s"},"spec":{"holderIdentity":"%s_1"}}` + "\n"
	leases := fmt.Sprintf(lease, "kube-controller-manager", "m", "manager-0") + fmt.Sprintf(lease, "kube-scheduler", "s", "scheduler-0")
	waits, bound := "pods/r/w "+pod("w", `,"namespace":"r","name":"w"`, "", "Pending")+"\n", "pods/r/w "+pod("w", `,"namespace":"r","name":"w"`, bound, "Pending")+"\n"
	victim := func(spec string) string {
		return "pods/b/v " + pod("v", `,"namespace":"b","name":"v"`, spec, "") + "\npods/b/v -\n"
	}
	binding := func(pod, by string, code int) *importer.Told {
		return &importer.Told{Exchange: importer.Exchange{
			Request: importer.Request{Subresource: "binding", Scope: model.Scope{Namespace: "b", Name: pod}}, Client: by, Code: code,
		}}
	}
	failed, status := binding("v", "scheduler-0", http.StatusConflict), binding("v", "scheduler-0", http.StatusConflict)
	status.Subresource = "status"
	for name, row := range map[string]struct {
		states, by, life string
		binding          *importer.Told
		excused          bool
	}{
		"victim on no node":                   {leases + waits + victim(""), "scheduler-0", "scheduler-0", failed, true},
		"victim marked, then removed":         {leases + waits + strings.Replace(victim(""), "\n", "\npods/b/v "+pod("v", `,"namespace":"b","name":"v"`+dying, "", "")+"\n", 1), "scheduler-0", "scheduler-0", failed, true},
		"victim on a node":                    {leases + waits + victim(`"nodeName":"n"`), "scheduler-0", "scheduler-0", failed, false},
		"victim deleted by a user":            {leases + waits + victim(""), "user", "scheduler-0", failed, false},
		"scheduler restarted":                 {leases + waits + victim(""), "scheduler-0", "scheduler-0 (life 2)", binding("v", "scheduler-0 (life 2)", 0), false},
		"no leader":                           {fmt.Sprintf(lease, "kube-controller-manager", "m", "manager-0") + waits + victim(""), "scheduler-0", "scheduler-0", failed, false},
		"lease released when the run ended":   {leases + waits + victim("") + fmt.Sprintf(lease, "kube-scheduler", "s", ""), "scheduler-0", "scheduler-0", failed, true},
		"no pending pod":                      {leases + bound + victim(""), "scheduler-0", "scheduler-0", failed, false},
		"pending pod in another namespace":    {leases + strings.ReplaceAll(strings.ReplaceAll(waits, "pods/r", "pods/b"), `"namespace":"r"`, `"namespace":"b"`) + victim(""), "scheduler-0", "scheduler-0", failed, false},
		"pending pod terminating":             {leases + strings.Replace(waits, `"uid":"w"`, `"uid":"w"`+dying, 1) + victim(""), "scheduler-0", "scheduler-0", failed, false},
		"binding timed out":                   {leases + waits + victim(""), "scheduler-0", "scheduler-0", binding("v", "scheduler-0", 0), true},
		"binding succeeded":                   {leases + waits + victim(""), "scheduler-0", "scheduler-0", binding("v", "scheduler-0", http.StatusCreated), false},
		"status update failed":                {leases + waits + victim(""), "scheduler-0", "scheduler-0", status, false},
		"binding of another pod failed":       {leases + waits + victim(""), "scheduler-0", "scheduler-0", binding("w", "scheduler-0", http.StatusConflict), false},
		"binding by another scheduler failed": {leases + waits + victim(""), "scheduler-0", "scheduler-0", binding("v", "scheduler-1", http.StatusConflict), false},
		"no victim":                           {leases + waits, "scheduler-0", "scheduler-0", failed, false},
		"pending pod failed":                  {leases + strings.Replace(waits, "Pending", "Failed", 1) + victim(""), "scheduler-0", "scheduler-0", failed, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled()
			w.pod.Spec.NodeName, w.pod.Status.Conditions = "", nil
			late := controlplane.Late(w.settles(t), time.Hour, 0)
			require.Error(t, late)
			committed := states(t, row.states)
			pods := &model.History{Streams: []model.Stream{{ID: 1, Client: "manager-0", Call: 1}, {ID: 2, Client: row.life, Call: 1}}}
			if last := slices.IndexFunc(committed.Changes, func(c model.Change) bool { return c.Deleted }); last >= 0 {
				pods.Operations = []model.Operation{{Kind: model.Delete, Client: row.by, Call: 9, ResultRV: committed.Changes[last].RV}}
			}
			noted := 0
			plane := &controlplane.Plane{}
			plane.Overdue(late)
			broken, err := plane.Broken(simtest.Seen{
				Committed: committed, Histories: map[string]*model.History{"pods": pods}, Requests: map[string][]*importer.Told{"pods": {row.binding}},
				Unjudged: func(_, why string) {
					require.Contains(t, why, "(finding 31)")
					noted++
				},
			})
			require.NoError(t, err)
			require.Equal(t, map[bool]int{true: 1}[row.excused], noted)
			require.Len(t, broken, 1-noted)
		})
	}
}

// A budget counts too many pods: since its last change, the labels of a pod have changed so that it no longer selects the pod.
func TestBudgetCountsARelabelledPod(t *testing.T) {
	const (
		lease  = `leases/kube-system/kube-controller-manager {"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"uid":"l"},"spec":{"holderIdentity":"manager-0_1"}}` + "\n"
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
		"relabelled after the budget's last change": {lease + selected + budget + other, "", tooMany, true},
		"label removed":                                 {lease + selected + budget + in("r", ""), "", tooMany, true},
		"relabelled, then deleted":                      {lease + selected + budget + other + gone, "", tooMany, true},
		"relabelled before the budget's last change":    {lease + selected + other + budget, "", tooMany, false},
		"only another budget has changed since":         {lease + selected + budget + other + strings.Replace(budget, "/budget", "/another", 1), "", tooMany, true},
		"deleted":                                       {lease + selected + budget + gone, "", tooMany, false},
		"deleted and recreated with another label":      {lease + selected + budget + gone + other, "", tooMany, false},
		"another label added":                           {lease + selected + budget + both, "", tooMany, false},
		"relabelled so that the budget selects it":      {lease + other + budget + selected, "", tooMany, false},
		"relabelled, selected neither before nor after": {lease + other + budget + in("r", `"app":"c"`), "", tooMany, false},
		"relabelled in another namespace":               {lease + in("b", `"app":"a"`) + budget + in("b", `"app":"b"`), "", tooMany, false},
		"budget counts too few":                         {lease + selected + budget + other, "", func(w *world) { w.budget.Status.CurrentHealthy = 0 }, false},
		"budget's generation not observed":              {lease + selected + budget + other, "", func(w *world) { tooMany(w); w.budget.Generation = 2 }, false},
		"budget terminating": {lease + selected + budget + other, "", func(w *world) {
			w.budget.DeletionTimestamp, w.budget.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"f"}
		}, false},
		"no leader":     {selected + budget + other, "", tooMany, false},
		"the fix is on": {lease + selected + budget + other, "fix-finding-33", tooMany, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(mutant.Variable, row.fix)
			w := settled()
			row.wrong(w)
			late := controlplane.Late(w.settles(t), time.Hour, 0)
			require.ErrorContains(t, late, "r/budget")
			noted := 0
			plane := &controlplane.Plane{}
			plane.Overdue(late)
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
