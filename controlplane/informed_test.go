package controlplane_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
)

// watcher is a manager whose watch of pods, opened with some User-Agent, delivers states of pod a: told has the second of each by its
// revision.
func watcher(agent string, told map[int64]int64) (*model.History, map[string][]*importer.Told) {
	stream := model.Stream{ID: 1, Client: "manager-0", Call: 1}
	for rv := range int64(10) {
		if at, is := told[rv]; is {
			stream.Events = append(stream.Events, model.Event{Time: at * int64(time.Second), Type: model.Modified, RV: rv, Object: &model.Object{Namespace: "r", Name: "a", UID: "a", RV: rv}})
		}
	}
	opened := &importer.Told{Exchange: importer.Exchange{Kind: model.List, Request: importer.Request{Watch: true}, Client: "manager-0", Call: 1, Agent: "kube-controller-manager/" + agent}}
	return &model.History{Streams: []model.Stream{stream}}, map[string][]*importer.Told{"pods": {opened}}
}

// brokenOf returns how many rules are broken, and requires that each is this one.
func brokenOf(t *testing.T, seen simtest.Seen, rule string) int {
	t.Helper()
	broken, err := controlplane.Check(seen)
	require.NoError(t, err)
	for _, text := range broken {
		require.True(t, strings.HasPrefix(text, rule+" is broken"), text)
	}
	return len(broken)
}

// breaks requires that only this rule is broken; none, if it is empty.
func breaks(t *testing.T, seen simtest.Seen, rule string) {
	t.Helper()
	want := 1
	if rule == "" {
		want = 0
	}
	require.Equal(t, want, brokenOf(t, seen, rule))
}

// Pod a is created at revision 1, evicted at revision 3, and the disruption controller writes the status of its budget a minute after the epoch.
func TestEvictionIsKept(t *testing.T) {
	const metadata = `,"namespace":"r","name":"a","labels":{"app":"x"}`
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	budget := func(evicted string) string {
		return `poddisruptionbudgets/r/x {"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"uid":"x"},"spec":{"selector":{"matchLabels":{"app":"x"}}},"status":{"disruptedPods":{` + evicted + "}}}\n"
	}
	evicted := func(at time.Duration) string { return `"a":"` + epoch.Add(at).Format(time.RFC3339) + `"` }
	for name, row := range map[string]struct {
		agent, client string
		told          map[int64]int64
		evicted       time.Duration
		after         string
		broken        int
	}{
		"removed":                     {"shared-informers", "manager-0", map[int64]int64{1: 1}, 50 * time.Second, "", 1},
		"kept":                        {"shared-informers", "manager-0", map[int64]int64{1: 1}, 50 * time.Second, evicted(50 * time.Second), 0},
		"deletion observed":           {"shared-informers", "manager-0", map[int64]int64{1: 1, 4: 59}, 50 * time.Second, "", 0},
		"deletion observed later":     {"shared-informers", "manager-0", map[int64]int64{1: 1, 4: 61}, 50 * time.Second, "", 1},
		"pod just observed":           {"shared-informers", "manager-0", map[int64]int64{1: 55}, 50 * time.Second, "", 0},
		"pod never observed":          {"shared-informers", "manager-0", nil, 50 * time.Second, "", 0},
		"observed by other informers": {"metadata-informers", "manager-0", map[int64]int64{1: 1}, 50 * time.Second, "", 0},
		"evicted two minutes ago":     {"shared-informers", "manager-0", map[int64]int64{1: 1}, -time.Minute, "", 0},
		"by a user":                   {"shared-informers", "user", map[int64]int64{1: 1}, 50 * time.Second, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			committed := states(t, "pods/r/a "+pod("a", metadata, "", "")+"\n"+budget("")+budget(evicted(row.evicted))+"pods/r/a "+pod("a", metadata+dying, "", "")+"\n"+budget(row.after))
			pods, requests := watcher(row.agent, row.told)
			for _, change := range committed.Changes {
				if strings.HasPrefix(change.Object.Name, "/registry/pods") {
					change.Object.Namespace, change.Object.Name, change.Object.UID = "r", "a", "a"
					pods.Truth.Changes = append(pods.Truth.Changes, change)
				}
			}
			budgets := &model.History{Operations: []model.Operation{{ID: 2, Kind: model.Update, Client: row.client, Call: int64(time.Minute), Return: int64(time.Minute) + 1, ResultRV: 5}}}
			seen := simtest.Seen{Committed: committed, Epoch: epoch.UnixNano(), Histories: map[string]*model.History{"pods": pods, "poddisruptionbudgets.policy": budgets}, Requests: requests}
			require.Equal(t, row.broken, brokenOf(t, seen, "EvictionIsKept"))
		})
	}
}

// Pod a gets its deletionTimestamp at revision 2 and is removed at revision 3, by a request of a node that is answered at 40 s. Controllers delete it at some second and again at another one.
func TestDeletedOnce(t *testing.T) {
	for name, row := range map[string]struct {
		watches, deletes string
		first            model.Code
		again            int64
		told             map[int64]int64
		broken           int
	}{
		"again":                          {"shared-informers", "daemon-set-controller", model.OK, 30, map[int64]int64{1: 1, 2: 5, 3: 40}, 1},
		"again, removal not observed":    {"shared-informers", "statefulset-controller", model.OK, 30, map[int64]int64{1: 1, 2: 5}, 1},
		"recreated pod":                  {"shared-informers", "statefulset-controller", model.OK, 41, map[int64]int64{1: 1, 2: 5}, 0},
		"again, at once":                 {"shared-informers", "daemon-set-controller", model.OK, 24, map[int64]int64{1: 1, 2: 5, 3: 40}, 1},
		"again, without expectations":    {"shared-informers", "statefulset-controller", model.OK, 24, map[int64]int64{1: 1, 2: 5, 3: 40}, 0},
		"again, before it is told":       {"shared-informers", "daemon-set-controller", model.OK, 4, map[int64]int64{1: 1, 2: 5, 3: 40}, 0},
		"retry after a timeout":          {"shared-informers", "daemon-set-controller", model.Unknown, 30, map[int64]int64{1: 1, 2: 5, 3: 40}, 0},
		"deletionTimestamp not observed": {"shared-informers", "daemon-set-controller", model.OK, 30, map[int64]int64{1: 1, 3: 40}, 0},
		"of the recreated pod":           {"shared-informers", "daemon-set-controller", model.OK, 50, map[int64]int64{1: 1, 2: 5, 3: 40}, 0},
		"observed by another informer":   {"metadata-informers", "daemon-set-controller", model.OK, 30, map[int64]int64{1: 1, 2: 5, 3: 40}, 0},
		"by the garbage collector":       {"shared-informers", "generic-garbage-collector", model.OK, 30, map[int64]int64{1: 1, 2: 5, 3: 40}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			committed := states(t, "pods/r/a "+pod("a", "", "", "")+"\npods/r/a "+pod("a", dying, "", "")+"\npods/r/a -")
			pods, requests := watcher(row.watches, row.told)
			pods.Operations = []model.Operation{{ID: 2, Kind: model.Delete, Client: "node-0", Call: int64(39 * time.Second), Return: int64(40 * time.Second), ResultRV: 3}}
			requests["pods"] = append(requests["pods"], deletes(row.deletes, 2, row.first), deletes(row.deletes, row.again, model.OK))
			require.Equal(t, row.broken, brokenOf(t, simtest.Seen{Committed: committed, Histories: map[string]*model.History{"pods": pods}, Requests: requests}, "DeletedOnce"))
		})
	}
}

// deletes is the request of a controller of the manager to delete pod a at a second.
func deletes(controller string, at int64, err model.Code) *importer.Told {
	return &importer.Told{Exchange: importer.Exchange{
		Kind: model.Delete, Request: importer.Request{Scope: model.Scope{Namespace: "r", Name: "a"}}, Client: "manager-0", Agent: "kube-controller-manager/" + controller,
		Call: at * int64(time.Second), Return: at*int64(time.Second) + 1, Err: err,
	}}
}

// A daemon set deletes pod a at 2 s and at 6 s, is told at 5 s that it is terminating, and at 4 s or before its first request that another pod is, which it may
// count as the deletion that it expects.
func TestDeletedOnceCountsOthers(t *testing.T) {
	own, another := owned("DaemonSet", "set"), owned("DaemonSet", "another")
	for _, row := range []struct {
		other      string
		at, broken int
	}{{own, 4, 0}, {own, 1, 0}, {another, 4, 1}, {another, 1, 1}} {
		other, broken := row.other, row.broken
		committed := states(t, strings.Join([]string{
			"pods/r/b " + pod("b", other, "", ""), "pods/r/b " + pod("b", other+dying, "", ""),
			"pods/r/a " + pod("a", owned("DaemonSet", "set"), "", ""), "pods/r/a " + pod("a", owned("DaemonSet", "set")+dying, "", ""), "pods/r/a -",
		}, "\n"))
		pods, requests := watcher("shared-informers", map[int64]int64{3: 1, 4: 5})
		pods.Operations = []model.Operation{{ID: 2, Kind: model.Delete, Client: "node-0", Call: int64(39 * time.Second), Return: int64(40 * time.Second), ResultRV: 5}}
		pods.Streams[0].Events = append(pods.Streams[0].Events, model.Event{Time: int64(time.Duration(row.at) * time.Second), Type: model.Modified, RV: 2, Object: &model.Object{Namespace: "r", Name: "b", UID: "b", RV: 2}})
		requests["pods"] = append(requests["pods"], deletes("daemon-set-controller", 2, model.OK), deletes("daemon-set-controller", 6, model.OK))
		require.Equal(t, broken, brokenOf(t, simtest.Seen{Committed: committed, Histories: map[string]*model.History{"pods": pods}, Requests: requests}, "DeletedOnce"))
	}
}
