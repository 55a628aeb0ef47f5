package controlplane_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
)

// A controller whose creates were refused many times does not try again before the run ends. The names of the pods of a daemon set or replica set are generated.
func TestBackoffAfterRefusedPods(t *testing.T) {
	daemon := func(w *world) { w.daemon.Status.DesiredNumberScheduled = 0 }
	set := func(w *world) { w.set.Status.Replicas = 0 }
	stateful := func(w *world) { w.stateful.Status.Replicas = 0 }
	for name, row := range map[string]struct {
		wrong                    func(*world)
		agent, client, space, of string
		prefix                   string // of generated names
		times                    int
		holds                    bool
	}{
		"daemon set":                    {daemon, "daemon-set-controller", "manager-0", "r", "", "daemon-", 14, false},
		"daemon set, fewer":             {daemon, "daemon-set-controller", "manager-0", "r", "", "daemon-", 13, true},
		"replica set":                   {set, "replicaset-controller", "manager-0", "r", "", "set-", 14, false},
		"deployment":                    {func(w *world) { w.deployment.Status.UpdatedReplicas = 0 }, "replicaset-controller", "manager-0", "r", "", "deployment-5-", 14, false},
		"daemon set, by another":        {daemon, "replicaset-controller", "manager-0", "r", "", "daemon-", 14, true},
		"daemon set, another manager":   {daemon, "daemon-set-controller", "manager-1", "r", "", "daemon-", 14, true},
		"daemon set, another namespace": {daemon, "daemon-set-controller", "manager-0", "s", "", "daemon-", 14, true},
		"daemon set, pods of another":   {daemon, "daemon-set-controller", "manager-0", "r", "", "other-", 14, true},
		"stateful set":                  {stateful, "statefulset-controller", "manager-0", "r", "stateful-0", "", 14, false},
		"stateful set, pods of another": {stateful, "statefulset-controller", "manager-0", "r", "other-0", "", 14, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled()
			row.wrong(w)
			var noted []string
			plane := &controlplane.Plane{}
			plane.SetOverdue(controlplane.Late(w.settles(t), time.Hour, 0))
			require.Error(t, plane.Overdue())
			var asked []*importer.Told
			for range row.times {
				refused := importer.Exchange{Kind: model.Create, GenerateName: row.prefix, Client: row.client, Agent: "kubernetes/1/" + row.agent, Code: http.StatusForbidden}
				refused.Scope = model.Scope{Namespace: row.space, Name: row.of}
				asked = append(asked, &importer.Told{Exchange: refused})
			}
			broken, err := plane.Broken(simtest.Seen{
				Committed: states(t, managerLeads), Histories: map[string]*model.History{"pods": {Streams: []model.Stream{{ID: 1, Client: "manager-0", Call: 1}}}},
				Requests: map[string][]*importer.Told{"pods": asked}, Unjudged: func(_, why string) { noted = append(noted, why) },
			})
			require.NoError(t, err)
			require.Equal(t, row.holds, len(broken) == 1, broken)
			require.Equal(t, row.holds, len(noted) == 0, noted)
		})
	}
}

// A stateful set's controller retries with a growing backoff until it has observed its own writes.
func TestBackoffOfAStatefulSetWhoseControllerLags(t *testing.T) {
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
			plane.SetOverdue(controlplane.Late(w.settles(t), time.Hour, 0))
			require.ErrorContains(t, plane.Overdue(), "stateful set r/stateful wants 1")
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
				Committed: states(t, managerLeads), Histories: map[string]*model.History{"pods": pods}, Requests: map[string][]*importer.Told{"pods": asked}, Unjudged: func(string, string) {},
			})
			require.NoError(t, err)
			require.Equal(t, row.holds, len(broken) == 1, broken)
		})
	}
}
