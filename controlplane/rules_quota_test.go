package controlplane_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
)

// A quota controller counts one pod of two that have been charged, and an API server then admits a third.
func TestQuotaCountedTooEarly(t *testing.T) {
	committed := states(t, "resourcequotas/r/q "+quota("2", "0")+"\nresourcequotas/r/q "+quota("2", "1")+"\npods/r/p "+pod("p", "", "", "Failed")+
		"\nresourcequotas/r/q "+quota("2", "2")+"\npods/r/a "+pod("a", "", "", "")+"\npods/r/b "+pod("b", "", "", "")+
		"\nresourcequotas/r/q "+quota("2", "1")+"\npods/r/c "+pod("c", "", "", "")+"\nresourcequotas/r/q "+quota("2", "3"))
	const server = -1 // API servers, which charge pods, are not clients
	// Each row says after how many seconds pod b is requested, and after how many the controller, which counts at 8 s, observes it; 0 for never.
	for name, row := range map[string]struct {
		requested, observed time.Duration
		broken              int
	}{
		"observed before the count": {5, 7, 1},
		"observed later":            {5, 9, 0},
		"never observed":            {5, 0, 0},
		"requested meanwhile":       {8, 11, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := &model.History{Truth: committed, Streams: []model.Stream{{ID: 1, Client: "manager-0", Call: 1}}}
			for i, second := range []time.Duration{0, server, 2, server, 4, row.requested, 8, 11, 14} {
				if second == server {
					continue
				}
				call := int64(second * time.Second)
				h.Operations = append(h.Operations, model.Operation{Kind: model.Update, Client: "manager-0", Call: call, Return: call + int64(time.Second), ResultRV: committed.Changes[i].RV})
			}
			told := func(at time.Duration, change int) {
				h.Streams[0].Events = append(h.Streams[0].Events, model.Event{Time: int64(at * time.Second), Type: model.Added, RV: committed.Changes[change].RV, Object: &committed.Changes[change].Object})
			}
			if told(6, 4); row.observed > 0 {
				told(row.observed, 5)
			}
			require.Equal(t, row.broken, brokenOf(t, simtest.Seen{Committed: committed, Histories: map[string]*model.History{"pods": h}}, "WithinQuota"))
		})
	}
}
