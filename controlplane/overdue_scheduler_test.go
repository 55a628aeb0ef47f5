package controlplane_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
)

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
			plane.SetOverdue(late)
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

// A scheduler binds pod v between 10 and 20 ns. It is deleted, and another v is created at 30 ns; a pod stays pending in another namespace.
func TestASchedulerKeepsTheRoomOfADeletedPod(t *testing.T) {
	const lease = `leases/kube-system/%s {"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"uid":"%s"},"spec":{"holderIdentity":"%s_1"}}` + "\n"
	leases := fmt.Sprintf(lease, "kube-controller-manager", "m", "manager-0") + fmt.Sprintf(lease, "kube-scheduler", "s", "scheduler-0")
	waits := "pods/r/w " + pod("w", `,"namespace":"r","name":"w"`, "", "Pending") + "\n"
	state := func(uid, spec string) string {
		return "pods/b/v " + pod(uid, `,"namespace":"b","name":"v"`, spec, "") + "\n"
	}
	first, gone, second := state("v", "")+state("v", bound), "pods/b/v -\n", state("x", "")
	type asked struct {
		client           string
		kind             model.Kind
		watch, initial   bool
		namespace        string
		called, returned int64
	}
	lists := asked{"scheduler-0", model.List, false, false, "", 40, 50}
	with := func(change func(*asked)) asked {
		a := lists
		change(&a)
		return a
	}
	for name, row := range map[string]struct {
		states  string
		by      string // who bound the pod
		asked   asked
		excused bool
	}{
		"listed later":                      {leases + waits + first + gone + second, "scheduler-0", lists, true},
		"list never answered":               {leases + waits + first + gone + second, "scheduler-0", with(func(a *asked) { a.returned = model.Pending }), true},
		"list while the second was made":    {leases + waits + first + gone + second, "scheduler-0", with(func(a *asked) { a.called = 25 }), true},
		"list before the second was made":   {leases + waits + first + gone + second, "scheduler-0", with(func(a *asked) { a.called, a.returned = 25, 30 }), false},
		"list before the binding":           {leases + waits + first + gone + second, "scheduler-0", with(func(a *asked) { a.called = 10 }), false},
		"watched later, from the beginning": {leases + waits + first + gone + second, "scheduler-0", with(func(a *asked) { a.watch, a.initial, a.kind = true, true, "" }), true},
		"watched later":                     {leases + waits + first + gone + second, "scheduler-0", with(func(a *asked) { a.watch = true }), false},
		"read later":                        {leases + waits + first + gone + second, "scheduler-0", with(func(a *asked) { a.kind = model.Get }), false},
		"list of a namespace":               {leases + waits + first + gone + second, "scheduler-0", with(func(a *asked) { a.namespace = "b" }), false},
		"another listed":                    {leases + waits + first + gone + second, "scheduler-0", with(func(a *asked) { a.client = "scheduler-1" }), false},
		"bound by another":                  {leases + waits + first + gone + second, "scheduler-1", lists, false},
		"not gone":                          {leases + waits + first, "scheduler-0", lists, false},
		"second came first":                 {leases + waits + second + gone + first + gone, "scheduler-0", lists, false},
		"no second":                         {leases + waits + first + gone, "scheduler-0", lists, false},
		"second of another name":            {leases + waits + first + gone + strings.ReplaceAll(strings.ReplaceAll(second, `"v"`, `"z"`), "/v", "/z"), "scheduler-0", lists, false},
		"second in another namespace":       {leases + waits + first + gone + strings.ReplaceAll(strings.ReplaceAll(second, `"b"`, `"c"`), "/b", "/c"), "scheduler-0", lists, false},
		"no pending pod":                    {leases + strings.Replace(waits, `"uid":"w"`, `"uid":"w"`+dying, 1) + first + gone + second, "scheduler-0", lists, false},
		"no leader":                         {fmt.Sprintf(lease, "kube-controller-manager", "m", "manager-0") + waits + first + gone + second, "scheduler-0", lists, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled()
			w.pod.Spec.NodeName, w.pod.Status.Conditions = "", nil
			late := controlplane.Late(w.settles(t), time.Hour, 0)
			require.Error(t, late)
			committed := states(t, row.states)
			pods := &model.History{Streams: []model.Stream{{ID: 1, Client: "manager-0", Call: 1}, {ID: 2, Client: "scheduler-0", Call: 1}}}
			for _, change := range committed.Changes {
				if strings.Contains(change.Object.Value, `"name":"v"`) && !change.Deleted {
					pods.Operations = append(pods.Operations, model.Operation{Kind: model.Create, Client: "user", ResultRV: change.RV, Call: 30, Return: 35})
				}
			}
			binding := importer.Exchange{Request: importer.Request{Subresource: "binding", Scope: model.Scope{Namespace: "b", Name: "v"}}, Client: row.by, Code: http.StatusCreated, Call: 10, Return: 20}
			list := importer.Exchange{
				Request: importer.Request{Watch: row.asked.watch, InitialEvents: row.asked.initial, Scope: model.Scope{Namespace: row.asked.namespace}},
				Kind:    row.asked.kind, Client: row.asked.client, Call: row.asked.called, Return: row.asked.returned,
			}
			isFinding(t, late, simtest.Seen{
				Committed: committed, Histories: map[string]*model.History{"pods": pods}, Requests: map[string][]*importer.Told{"pods": {{Exchange: binding}, {Exchange: list}}},
			}, 61, row.excused)
		})
	}
}
