package controlplane_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
)

// A daemon set has not replaced a pod of revision 1 by the end of the run.
func TestPodsOfADaemonSetStayBesideEachOther(t *testing.T) {
	ready := func(uid, owner, node, revision, metadata string) string {
		text := pod(uid, `,"labels":{"controller-revision-hash":"`+revision+`"}`+metadata+owned("DaemonSet", owner), `"nodeName":"`+node+`"`, "Running")
		return "pods/r/" + uid + " " + strings.Replace(text, `"phase"`, `"conditions":[{"type":"Ready","status":"True"}],"phase"`, 1)
	}
	surges := func(surge intstr.IntOrString) *appsv1.RollingUpdateDaemonSet {
		return &appsv1.RollingUpdateDaemonSet{MaxSurge: &surge}
	}
	first := ready("p", "daemon", "n", "1", "")
	for name, row := range map[string]struct {
		second string
		update *appsv1.RollingUpdateDaemonSet
		wait   int32 // minReadySeconds
		holds  bool
	}{
		"both revisions on a node":          {ready("q", "daemon", "n", "2", ""), surges(intstr.FromInt32(1)), 2, false},
		"both revisions, surge in per cent": {ready("q", "daemon", "n", "2", ""), surges(intstr.FromString("1%")), 2, false},
		"no surge":                          {ready("q", "daemon", "n", "2", ""), surges(intstr.FromInt32(0)), 2, true},
		"no settings":                       {ready("q", "daemon", "n", "2", ""), nil, 2, true},
		"surge that is no number":           {ready("q", "daemon", "n", "2", ""), surges(intstr.FromString("x")), 2, true},
		"available as soon as ready":        {ready("q", "daemon", "n", "2", ""), surges(intstr.FromInt32(1)), 0, true},
		"on another node":                   {ready("q", "daemon", "m", "2", ""), surges(intstr.FromInt32(1)), 2, true},
		"of another daemon set":             {ready("q", "other", "n", "2", ""), surges(intstr.FromInt32(1)), 2, true},
		"of one revision":                   {ready("q", "daemon", "n", "1", ""), surges(intstr.FromInt32(1)), 2, true},
		"one is being deleted":              {ready("q", "daemon", "n", "2", dying), surges(intstr.FromInt32(1)), 2, true},
		"one is not ready":                  {strings.Replace(ready("q", "daemon", "n", "2", ""), "True", "False", 1), surges(intstr.FromInt32(1)), 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled()
			w.daemon.Status.UpdatedNumberScheduled = 0
			w.daemon.Spec.MinReadySeconds, w.daemon.Spec.UpdateStrategy.RollingUpdate = row.wait, row.update
			late := controlplane.Late(w.settles(t), time.Hour, 0)
			require.ErrorContains(t, late, "daemon set r/daemon")
			seen := simtest.Seen{Committed: states(t, managerLeads+strings.Join([]string{first, row.second}, "\n")), Histories: map[string]*model.History{"daemonsets.apps": {}}}
			isFinding(t, late, seen, 41, !row.holds)
		})
	}
}
