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

// A violation names the client that broke the rule, with what it had been told and what not: here of its own first pod.
func TestWhatABreakerHadBeenTold(t *testing.T) {
	committed := states(t, "replicasets/r/s "+set+"\npods/r/a "+pod("1", owned("ReplicaSet", "s"), "", "")+"\npods/r/b "+pod("2", owned("ReplicaSet", "s"), "", ""))
	const ms = int64(time.Millisecond)
	object := func(name, uid string, rv int64) model.Object {
		return model.Object{Namespace: "r", Name: name, UID: uid, Value: uid, RV: rv}
	}
	create := func(id int, at int64, o model.Object) model.Operation {
		return model.Operation{ID: id, Kind: model.Create, Client: "manager-0", Call: at * ms, Return: (at + 5) * ms, Object: &o, ResultRV: o.RV}
	}
	stream := func(id int, events ...model.Event) model.Stream {
		return model.Stream{ID: id, Client: "manager-0", Call: ms, Events: events}
	}
	added := func(at int64, o model.Object) model.Event {
		return model.Event{Time: at * ms, Type: model.Added, RV: o.RV, Object: &o}
	}
	s, a, b, other := object("s", "s", 1), object("a", "1", 2), object("b", "2", 3), object("other", "9", 1)
	histories := map[string]*model.History{
		"replicasets.apps": {Truth: model.Truth{Changes: []model.Change{{RV: 1, Object: s}}}, Streams: []model.Stream{stream(1, added(2, s))}},
		"pods": {
			Truth:      model.Truth{Changes: []model.Change{{RV: 1, Object: other}, {RV: 2, Object: a}, {RV: 3, Object: b}}},
			Operations: []model.Operation{create(1, 10, a), create(2, 20, b)},
			Streams:    []model.Stream{stream(2, added(40, a))},
		},
	}
	asked := importer.Exchange{Kind: model.Create, Client: "manager-0", Call: 20 * ms, Agent: "kube-controller-manager/v1.37.2 (linux/amd64) kubernetes/1234567/replicaset-controller"}
	requests := map[string][]*importer.Told{"pods": {{Exchange: asked}}}
	broken, err := controlplane.Check(simtest.Seen{Committed: committed, Histories: histories, Requests: requests})
	require.NoError(t, err)
	require.Len(t, broken, 1)
	_, why, _ := strings.Cut(broken[0], "\n")
	require.Equal(t, "manager-0, by its replicaset-controller, asked for that at 0.020s. "+
		"manager-0 had observed no relevant change to pods. It had not observed that r/a was created at RV 2 (create by client manager-0, operation 1, 0.010s to 0.015s), and did so 20ms later. "+
		"manager-0 had observed all relevant changes to replicasets.apps, the last 18ms before: r/s was created at RV 1.", strings.Join(strings.Fields(why), " "))
}

// A succeeded pod may be marked as failed only by a pod garbage collector that has not observed the success (finding 11), which it may at 41 s.
func TestFailedUnseen(t *testing.T) {
	in := func(phase string) string { return "user kubectl pods/r/a " + pod("1", "", "", phase) + "\n" }
	told, untold := in("Running")+in("Succeeded")+in("Failed"), in("Running")+"!"+in("Succeeded")+"!"+in("Failed")
	for name, row := range map[string]struct {
		lines, patch string // the client, "" for none
		at           time.Duration
		broken       int
	}{
		"observed before":       {told, "manager-0", 50 * time.Second, 1},
		"observed afterwards":   {told, "manager-0", 40 * time.Second, 0},
		"never observed":        {untold, "manager-0", 50 * time.Second, 0},
		"kubelet, not observed": {untold, "node-0", 50 * time.Second, 1},
		"no patch recorded":     {untold, "", 50 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			seen, noted := recorded(t, row.lines), 0
			if row.patch != "" {
				asked := importer.Request{Subresource: "status", Scope: model.Scope{Namespace: "r", Name: "a"}}
				patch := &importer.Told{Exchange: importer.Exchange{Request: asked, Client: row.patch, Call: int64(row.at), Code: 200}}
				seen.Requests["pods"] = append(seen.Requests["pods"], patch)
			}
			seen.Unjudged = func(string, string) { noted++ }
			require.Equal(t, row.broken, brokenOf(t, seen, "EndIsFinal"))
			require.Equal(t, row.broken == 1, noted == 0)
		})
	}
}
