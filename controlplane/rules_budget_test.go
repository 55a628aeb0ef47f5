package controlplane_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
)

// Pods a and b are those of a budget, and c was one. Somebody has evicted a, and a controller that knows of them counts the healthy ones.
func TestEvictedIsNotHealthy(t *testing.T) {
	const selected = `,"namespace":"r","labels":{"app":"x"},"name":`
	budget := func(status string) string {
		return `poddisruptionbudgets/r/x {"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"uid":"x"},"spec":{"selector":{"matchLabels":{"app":"x"}}},"status":{` + status + `}}`
	}
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	evicted := func(at time.Duration) string {
		return `"currentHealthy":2,"disruptedPods":{"a":"` + epoch.Add(at).Format(time.RFC3339) + `"}`
	}
	pod := func(name string) model.Object {
		return model.Object{Namespace: "r", Name: name, UID: name, Value: name}
	}
	a, b, c := pod("a"), pod("b"), pod("c")
	a.RV, b.RV, c.RV = 1, 2, 3
	told := func(at time.Duration, kind model.EventType, rv int64, o model.Object) model.Event {
		return model.Event{Time: int64(at), Type: kind, RV: rv, Object: &o}
	}
	both := []model.Event{told(1, model.Added, 1, a), told(2, model.Added, 2, b)}
	gone := func(at time.Duration) []model.Event {
		return append(both[:2:2], told(3, model.Added, 3, c), told(at, model.Deleted, 4, c))
	}
	const counted = 5 * time.Minute
	for name, row := range map[string]struct {
		told    []model.Event
		evicted time.Duration
		counts  int
		client  string
		faults  []model.Fault
		broken  int
	}{
		"not the evicted":                  {both, counted - time.Minute, 1, "manager-0", nil, 0},
		"the evicted too":                  {both, counted - time.Minute, 2, "manager-0", nil, 1},
		"not yet told of all":              {both[:1], counted - time.Minute, 1, "manager-0", nil, 1},
		"by somebody else":                 {both, counted - time.Minute, 2, "user", nil, 0},
		"evicted long ago":                 {both, counted - 2*time.Minute, 2, "manager-0", nil, 0},
		"one that seems to be there":       {gone(counted + time.Second), counted - time.Minute, 2, "manager-0", nil, 0},
		"one that has just gone":           {gone(counted - time.Second), counted - time.Minute, 2, "manager-0", nil, 0},
		"one that had gone long ago":       {gone(counted - time.Minute), counted - time.Minute, 2, "manager-0", nil, 1},
		"when clocks are wrong":            {both, counted - time.Minute, 2, "manager-0", []model.Fault{{Name: "clock-jump"}}, 0},
		"when something else has happened": {both, counted - time.Minute, 2, "manager-0", []model.Fault{{Name: "compaction"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			committed := states(t, "pods/r/a "+podOf("a", selected)+"\npods/r/b "+podOf("b", selected)+"\npods/r/c "+podOf("c", selected)+"\npods/r/c -\n"+
				budget(evicted(row.evicted))+"\n"+budget(`"currentHealthy":`+strconv.Itoa(row.counts)))
			pods := &model.History{
				Truth: model.Truth{Changes: []model.Change{
					{RV: 1, Object: a}, {RV: 2, Object: b}, {RV: 3, Object: c}, {RV: 4, Deleted: true, Object: c},
				}},
				Streams: []model.Stream{{ID: 1, Client: "manager-0", Events: row.told}}, Faults: row.faults,
			}
			budgets := &model.History{Operations: []model.Operation{
				{ID: 2, Kind: model.Update, Client: row.client, Scope: model.Scope{Namespace: "r", Name: "x"}, Call: int64(counted), Return: int64(counted) + 1, ResultRV: 6},
			}}
			seen := simtest.Seen{Committed: committed, Epoch: epoch.UnixNano(), Histories: map[string]*model.History{"pods": pods, "poddisruptionbudgets.policy": budgets}}
			require.Equal(t, row.broken, brokenOf(t, seen, "EvictedIsNotHealthy"))
		})
	}
}

// podOf is a pod whose name is its UID.
func podOf(name, metadata string) string { return pod(name, metadata+`"`+name+`"`, "", "Running") }
