package controlplane_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/search/mutant"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
)

// scheduler-0 leads, scheduler-1 takes over when the lease has expired, and one of them releases it. Then a third one leads, and scheduler-1 acts.
func TestWhoReleasesALease(t *testing.T) {
	held := func(by string) string {
		return fmt.Sprintf(`leases/kube-system/kube-scheduler {"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"uid":"l"},"spec":{"leaseDurationSeconds":15,"holderIdentity":"%s"}}`, by)
	}
	const acts = "LeaderActs is broken at revision 5: scheduler-1 changes r/p by a request sent 3s after scheduler-2 had acquired the lease"
	for name, row := range map[string]struct {
		by, fix string
		marks   bool
		broken  []string
		noted   int
	}{
		"the leader":             {"scheduler-1", "", false, []string{acts}, 0},
		"it deletes gracefully":  {"scheduler-1", "", true, []string{acts}, 0},
		"another life of it":     {"scheduler-1 (life 2)", "", false, []string{acts}, 0},
		"its predecessor":        {"scheduler-0", "", false, nil, 1},
		"its predecessor, fixed": {"scheduler-0", "fix-finding-51", false, []string{"LeaseHeld is broken at revision 3: scheduler-0 releases the lease kube-system/kube-scheduler, which scheduler-1 holds", acts}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(mutant.Variable, row.fix)
			committed := states(t, strings.Join([]string{held("scheduler-0_1"), held("scheduler-1_1"), held(""), held("scheduler-2_1"), "pods/r/p " + pod("3", "", "", "")}, "\n"))
			h, noted := &model.History{}, 0
			for i, client := range []string{"scheduler-0", "scheduler-1", row.by, "scheduler-2", "scheduler-1"} {
				call := []int64{0, 20, 40, 44, 48}[i] * int64(time.Second)
				h.Operations = append(h.Operations, model.Operation{Kind: model.Update, Client: client, Call: call, Return: call + int64(time.Second), ResultRV: committed.Changes[i].RV})
			}
			requests := map[string][]*importer.Told{}
			if row.marks { // a deletion with a grace period is recorded as a read
				last := h.Operations[4]
				h.Operations = h.Operations[:4]
				asked := importer.Request{Scope: model.Scope{Namespace: "r", Name: "p"}}
				requests["pods"] = []*importer.Told{{Exchange: importer.Exchange{Kind: model.Delete, Request: asked, Client: last.Client, Call: last.Call, Return: last.Return}, Op: last}}
			}
			broken, err := controlplane.Check(simtest.Seen{Committed: committed, Histories: map[string]*model.History{"all": h}, Requests: requests, Unjudged: func(string, string) { noted++ }})
			require.NoError(t, err)
			require.Len(t, broken, len(row.broken), broken)
			for i := range broken {
				require.Contains(t, broken[i], row.broken[i])
			}
			require.Equal(t, row.noted, noted)
		})
	}
}
