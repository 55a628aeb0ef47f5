package controlplane_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
)

// What a controller was told of, and does not do, is held against it; what had come and gone before it listed is not.
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
	behind := func(w *world) { w.stateful.Spec.Replicas = new(int32(2)) }
	held := func(finalizer string) func(*world) {
		return func(w *world) {
			w.set.DeletionTimestamp, w.set.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{finalizer}
		}
	}
	replaced := []model.Change{owner(1, "old", false), owner(2, "old", true), owner(3, "set", false)}
	created := "replicasets/r/set " + strings.Replace(set, `"uid":"s"`, `"uid":"set"`, 1) + "\npods/r/p " + pod("p", owned("ReplicaSet", "set"), "", "") + "\npods/r/p -"
	ended := strings.TrimSuffix(created, "\npods/r/p -") + "\npods/r/p " + pod("p", dying+owned("ReplicaSet", "set"), "", "") + "\npods/r/p -"
	lines := func(l ...string) string { return strings.Join(l, "\n") }
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
		fails  int    // requests for the stateful set; below zero, so many deletions of what is gone
		gone   string // who has deleted the pod
	}{
		"an owner that came again unseen":     {orphan, "", []model.Change{owner(1, "old", false), owner(2, "old", true), owner(3, "new", false)}, []model.Event{event(model.Added, "old"), event(model.Modified, "new")}, false, 0, ""},
		"an owner whose end was seen":         {orphan, "", []model.Change{owner(1, "old", false), owner(2, "old", true), owner(3, "new", false)}, []model.Event{event(model.Added, "old"), event(model.Deleted, "old"), event(model.Added, "new")}, true, 0, ""},
		"an owner that did not come again":    {orphan, "", []model.Change{owner(1, "old", false), owner(2, "old", true)}, []model.Event{event(model.Added, "old")}, true, 0, ""},
		"an owner that is called otherwise":   {orphan, lines("pods/r/pod "+pod("pod", owned("Job", "old"), "", ""), "pods/r/pod "+pod("pod", "", "", ""), "pods/r/pod "+pod("pod", owned("ReplicaSet", "old"), "", "")), nil, nil, false, 0, ""},
		"one that was not there meanwhile":    {orphan, lines("pods/r/pod "+pod("pod", owned("Job", "old"), "", ""), "pods/r/pod "+pod("pod", "", "", ""), "pods/r/pod "+pod("pod", owned("ReplicaSet", "old"), "", "")), nil, []model.Event{at(3, event(model.Modified, "pod"))}, true, 0, ""},
		"one that was not listed meanwhile":   {orphan, lines("pods/r/pod "+pod("pod", owned("Job", "old"), "", ""), "pods/r/pod "+pod("pod", "", "", ""), "pods/r/pod "+pod("pod", owned("ReplicaSet", "old"), "", "")), nil, []model.Event{at(3, event(listed, "pod"))}, true, 0, ""},
		"one that is called so again":         {orphan, lines(oldSet, "pods/r/pod "+pod("pod", owned("ReplicaSet", "old"), "", ""), "pods/r/pod "+pod("pod", "", "", ""), "pods/r/pod "+pod("pod", owned("ReplicaSet", "old"), "", "")), nil, nil, true, 0, ""},
		"an owner that was never seen":        {orphan, "", []model.Change{owner(1, "old", false), owner(2, "old", true), owner(3, "new", false)}, []model.Event{event(model.Added, "new")}, true, 0, ""},
		"a deletion after an unseen one":      {held("orphan"), "", replaced, []model.Event{event(model.Added, "old"), event(model.Modified, "set")}, false, 0, ""},
		"a deletion after one that was seen":  {held("orphan"), "", replaced, []model.Event{event(model.Added, "old"), event(model.Deleted, "old"), event(model.Added, "set")}, true, 0, ""},
		"one that waits for somebody else":    {held("else"), "", replaced, []model.Event{event(model.Added, "old"), event(model.Modified, "set")}, true, 0, ""},
		"a pod that came and went unseen":     {short, created, nil, []model.Event{event(model.Added, "another")}, false, 0, ""},
		"a pod that was going when seen":      {short, ended, nil, []model.Event{at(4, event(model.Added, "p"))}, false, 0, ""},
		"a pod that was seen before it went":  {short, ended, nil, []model.Event{at(3, event(model.Added, "p"))}, true, 0, ""},
		"a pod that was seen":                 {short, created, nil, []model.Event{at(3, event(model.Added, "p"))}, true, 0, ""},
		"a pod that is still there":           {short, strings.TrimSuffix(created, "\npods/r/p -"), nil, []model.Event{event(model.Added, "another")}, true, 0, ""},
		"a set that lacks a pod for nothing":  {short, "", nil, []model.Event{event(model.Added, "another")}, true, 0, ""},
		"a pod for the set before, late":      {short, lines(oldSet, "replicasets/r/set -", podOfOld, newSet), []model.Change{owner(2, "old", false), owner(3, "old", true), owner(5, "set", false)}, []model.Event{at(4, event(model.Added, "p"))}, false, 0, ""},
		"a pod for the set before":            {short, lines(oldSet, podOfOld, "replicasets/r/set -", newSet), []model.Change{owner(2, "old", false), owner(4, "old", true), owner(5, "set", false)}, []model.Event{at(3, event(model.Added, "p"))}, true, 0, ""},
		"a deletion for the set before, late": {short, lines(oldSet, podOfOld, "replicasets/r/set -", "pods/r/p -", newSet), []model.Change{owner(2, "old", false), owner(4, "old", true), owner(6, "set", false)}, []model.Event{at(3, event(model.Added, "p"))}, false, 0, "replicaset-controller"},
		"a deletion for the set before":       {short, lines(oldSet, podOfOld, "pods/r/p -", "replicasets/r/set -", newSet), []model.Change{owner(2, "old", false), owner(5, "old", true), owner(6, "set", false)}, []model.Event{at(3, event(model.Added, "p"))}, true, 0, "replicaset-controller"},
		"a deletion of an adopted pod, late":  {short, lines(oldSet, "pods/r/p "+pod("p", owned("Job", "older"), "", ""), podOfOld, "replicasets/r/set -", "pods/r/p -", newSet), []model.Change{owner(2, "old", false), owner(5, "old", true), owner(7, "set", false)}, []model.Event{at(3, event(model.Added, "p"))}, false, 0, "replicaset-controller"},
		"what belonged to the set before":     {short, lines(oldSet, podOfOld, "replicasets/r/set -", "pods/r/p -", newSet), []model.Change{owner(2, "old", false), owner(4, "old", true), owner(6, "set", false)}, []model.Event{at(3, event(model.Added, "p"))}, true, 0, "generic-garbage-collector"},
		"a status of the one before":          {ahead, "", replaced, nil, false, 0, ""},
		"a status of a daemon set before":     {daemon, "", replaced, nil, false, 0, ""},
		"a status of nobody":                  {ahead, "", nil, nil, true, 0, ""},
		"a status of the one before, short":   {func(w *world) { ahead(w); behind(w) }, "", replaced, nil, true, 0, ""},
		"a stateful set that failed often":    {behind, "", nil, nil, false, 14, ""},
		"one that failed some times":          {behind, "", nil, nil, true, 13, ""},
		"one whose pods were gone":            {behind, "", nil, nil, true, -14, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled()
			row.wrong(w)
			late := controlplane.Late(controlplane.Settled(t.Context(), w.client()), time.Hour, 0)
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

// An API server that has not been told for five seconds that a namespace ends may let in what stays. One that has told others of it, or was asked for it, may not.
func TestWhatSlipsIntoANamespaceThatEnds(t *testing.T) {
	const space = `namespaces/r {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"r"%s}}` + "\n"
	before, marked := fmt.Sprintf(space, ""), fmt.Sprintf(space, `,"deletionTimestamp":"2000-01-01T00:00:00Z"`)
	object, gone := `pods/r/pod `+pod("pod", `,"namespace":"r","name":"pod"`, "", "")+"\n", "namespaces/r -\n"
	const created = int64(time.Minute)
	on := func(server string, kind model.Kind, asked, answered, at int64) model.Operation {
		return model.Operation{Server: server, Kind: kind, RV: asked, ResultRV: answered, Call: at, Return: at}
	}
	told := func(server string, rv, at int64) *model.History {
		return &model.History{Streams: []model.Stream{{Server: server, Events: []model.Event{{Type: model.Bookmark, RV: rv, Time: at}}}}}
	}
	asked := func(op model.Operation) *model.History { return &model.History{Operations: []model.Operation{op}} }
	early, late := created-int64(6*time.Second), created-int64(4*time.Second)
	for name, row := range map[string]struct {
		states string
		spaces *model.History
		marker string
		by     bool
		holds  bool
	}{
		"nobody knows that it knew":      {before + marked + object + gone, &model.History{}, "else", true, false},
		"a client was told of it before": {before + marked + object + gone, told("mine", 1, early), "else", true, false},
		"a client was told of it late":   {before + marked + object + gone, told("mine", 2, late), "else", true, false},
		"a client was told of it":        {before + marked + object + gone, told("mine", 2, early), "else", true, true},
		"another's was":                  {before + marked + object + gone, told("else", 2, early), "else", true, false},
		"a list had it":                  {before + marked + object + gone, asked(on("mine", model.List, 0, 2, early)), "else", true, true},
		"a list had it late":             {before + marked + object + gone, asked(on("mine", model.List, 0, 2, late)), "else", true, false},
		"a list had it from etcd":        {before + marked + object + gone, asked(on("mine", model.List, model.RVUnset, 2, early)), "else", true, false},
		"a list of another had it":       {before + marked + object + gone, asked(on("else", model.List, 0, 2, early)), "else", true, false},
		"a list was older":               {before + marked + object + gone, asked(on("mine", model.List, 0, 1, early)), "else", true, false},
		"it was asked for the end":       {before + marked + object + gone, &model.History{}, "mine", true, true},
		"it was there before":            {before + object + marked + gone, &model.History{}, "else", true, true},
		"nothing ended":                  {before + object, &model.History{}, "else", true, true},
		"nobody knows who let it in":     {before + marked + object + gone, &model.History{}, "else", false, true},
		"nobody knows of namespaces":     {before + marked + object + gone, nil, "else", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled()
			w.spaces[0].Name = "s"
			late := controlplane.Late(controlplane.Settled(t.Context(), w.client()), time.Hour, 0)
			require.ErrorContains(t, late, "is in a namespace that is gone")
			committed := states(t, row.states)
			pods := &model.History{}
			for _, change := range committed.Changes {
				switch {
				case strings.Contains(change.Object.Value, "deletionTimestamp"):
					end := on(row.marker, model.Delete, 0, change.RV, early)
					pods.Operations = append(pods.Operations, end)
				case strings.HasPrefix(change.Object.Name, "/registry/pods/") && row.by:
					pods.Operations = append(pods.Operations, on("mine", model.Create, 0, change.RV, created))
				}
			}
			histories := map[string]*model.History{"pods": pods}
			if row.spaces != nil {
				histories["namespaces"] = row.spaces
			}
			var noted []string
			plane := &controlplane.Plane{}
			plane.Overdue(late)
			broken, err := plane.Broken(simtest.Seen{Committed: committed, Histories: histories, Unjudged: func(_, why string) { noted = append(noted, why) }})
			require.NoError(t, err)
			require.Equal(t, row.holds, len(broken) == 1, broken)
			require.Equal(t, row.holds, len(noted) == 0, noted)
		})
	}
}

// A pod is on no node that has room. The scheduler has deleted another one, whose binding had failed, and nothing has told it since to look again.
func TestAPodThatNothingMoves(t *testing.T) {
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
		"the other one was on no node":         {leases + waits + victim(""), "scheduler-0", "scheduler-0", failed, true},
		"it was on one":                        {leases + waits + victim(`"nodeName":"n"`), "scheduler-0", "scheduler-0", failed, false},
		"somebody else has deleted it":         {leases + waits + victim(""), "user", "scheduler-0", failed, false},
		"the scheduler has restarted":          {leases + waits + victim(""), "scheduler-0", "scheduler-0 (life 2)", binding("v", "scheduler-0 (life 2)", 0), false},
		"nobody leads":                         {fmt.Sprintf(lease, "kube-controller-manager", "m", "manager-0") + waits + victim(""), "scheduler-0", "scheduler-0", failed, false},
		"no pod waits":                         {leases + bound + victim(""), "scheduler-0", "scheduler-0", failed, false},
		"none of the namespace waits":          {leases + strings.ReplaceAll(strings.ReplaceAll(waits, "pods/r", "pods/b"), `"namespace":"r"`, `"namespace":"b"`) + victim(""), "scheduler-0", "scheduler-0", failed, false},
		"a pod that waits is on its way out":   {leases + strings.Replace(waits, `"uid":"w"`, `"uid":"w"`+dying, 1) + victim(""), "scheduler-0", "scheduler-0", failed, false},
		"its binding got no answer":            {leases + waits + victim(""), "scheduler-0", "scheduler-0", binding("v", "scheduler-0", 0), true},
		"its binding was made":                 {leases + waits + victim(""), "scheduler-0", "scheduler-0", binding("v", "scheduler-0", http.StatusCreated), false},
		"its status could not be written":      {leases + waits + victim(""), "scheduler-0", "scheduler-0", status, false},
		"that of another pod failed":           {leases + waits + victim(""), "scheduler-0", "scheduler-0", binding("w", "scheduler-0", http.StatusConflict), false},
		"somebody else's binding failed":       {leases + waits + victim(""), "scheduler-0", "scheduler-0", binding("v", "scheduler-1", http.StatusConflict), false},
		"none was deleted":                     {leases + waits, "scheduler-0", "scheduler-0", failed, false},
		"a pod of it has ended that was on it": {leases + strings.Replace(waits, "Pending", "Failed", 1) + victim(""), "scheduler-0", "scheduler-0", failed, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled()
			w.pod.Spec.NodeName, w.pod.Status.Conditions = "", nil
			late := controlplane.Late(controlplane.Settled(t.Context(), w.client()), time.Hour, 0)
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
