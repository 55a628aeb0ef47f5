package controlplane_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
)

// A budget selects pods a and b, and c until its deletion. Pod a has been evicted. A controller that has observed all this counts the healthy pods at 120 s.
func TestEvictedIsNotHealthy(t *testing.T) {
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	budget := func(healthy int, evicted time.Duration) string {
		return `poddisruptionbudgets/r/x {"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"uid":"x"},"spec":{"selector":{"matchLabels":{"app":"x"}}},` +
			`"status":{"currentHealthy":` + strconv.Itoa(healthy) + `,"disruptedPods":{"a":"` + epoch.Add(evicted).Format(time.RFC3339) + `"}}}` + "\n"
	}
	const user, manager, unseen = "user kubectl ", "manager-0 disruption-controller ", "!"
	member := func(name string) string {
		return user + "pods/r/" + name + " " + pod(name, `,"namespace":"r","labels":{"app":"x"},"name":"`+name+`"`, "", "Running") + "\n"
	}
	for name, row := range map[string]struct {
		b, c    string        // unseen if manager-0 observes none of its states
		late    time.Duration // until it observes the removal of c
		evicted time.Duration
		counts  int
		by      string
		fault   string
		broken  int
	}{
		"evicted pod not counted":   {"", unseen, 0, time.Minute, 1, manager, "", 0},
		"evicted pod counted":       {"", unseen, 0, time.Minute, 2, manager, "", 1},
		"pod not observed":          {unseen, unseen, 0, time.Minute, 1, manager, "", 1},
		"by a user":                 {"", unseen, 0, time.Minute, 2, user, "", 0},
		"evicted long ago":          {"", unseen, 0, 0, 2, manager, "", 0},
		"removal not observed":      {"", "", 40 * time.Second, time.Minute, 2, manager, "", 0},
		"removal just observed":     {"", "", 38 * time.Second, time.Minute, 2, manager, "", 0},
		"removal observed long ago": {"", "", 0, time.Minute, 2, manager, "", 1},
		"after a clock jump":        {"", unseen, 0, time.Minute, 2, manager, "clock-jump", 0},
		"after another fault":       {"", unseen, 0, time.Minute, 2, manager, "compaction", 1},
	} {
		t.Run(name, func(t *testing.T) {
			pods := member("a") + row.b + member("b") + row.c + member("c") + row.c + user + "pods/r/c -\n"
			seen := recorded(t, pods+user+budget(2, row.evicted)+row.by+budget(row.counts, row.evicted))
			seen.Epoch, seen.Histories["pods"].Faults = epoch.UnixNano(), []model.Fault{{Name: row.fault}}
			if row.late > 0 {
				seen.Histories["pods"].Streams[0].Events[3].Time += int64(row.late)
			}
			require.Equal(t, row.broken, brokenOf(t, seen, "EvictedIsNotHealthy"))
		})
	}
}
