package controlplane_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
)

// A pod that is being deleted keeps the finalizer of a job, and another object is its controller.
func TestAPodKeepsTheFinalizerOfAJob(t *testing.T) {
	const tracking = "batch.kubernetes.io/job-tracking"
	kept := "pods/r/kept " + pod("p", `,"namespace":"r","name":"kept","finalizers":["`+tracking+`"]`+dying+owned("DaemonSet", "daemon"), bound, "")
	end := metav1.NewTime(time.Unix(1, 0))
	waits := func(w *world) { w.pod.DeletionTimestamp, w.pod.UID, w.pod.Finalizers = &end, "p", []string{tracking} }
	behind := func(w *world) { w.daemon.Status.UpdatedNumberScheduled = 0 }
	ends := func(w *world) { w.spaces[0].DeletionTimestamp, w.spaces[0].Finalizers = &end, []string{"kubernetes"} }
	for name, row := range map[string]struct {
		pod   string
		wrong func(*world)
		holds bool
	}{
		"the pod waits":            {kept, waits, false},
		"its controller waits":     {kept, behind, false},
		"the namespace ends":       {kept, ends, false},
		"another controller waits": {strings.Replace(kept, `"uid":"daemon"`, `"uid":"other"`, 1), behind, true},
		"of another namespace":     {strings.ReplaceAll(strings.ReplaceAll(kept, "/r/", "/s/"), `"r"`, `"s"`), ends, true},
		"another finalizer":        {strings.Replace(kept, tracking, "x", 1), waits, true},
		"of a job":                 {strings.Replace(kept, `"kind":"DaemonSet"`, `"kind":"Job"`, 1), waits, true},
		"of nobody":                {strings.Replace(kept, owned("DaemonSet", "daemon"), "", 1), waits, true},
		"it is not being deleted":  {strings.Replace(kept, dying, "", 1), behind, true},
		"it is gone":               {kept + "\npods/r/kept -", waits, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled()
			row.wrong(w)
			late := controlplane.Late(w.settles(t), time.Hour, 0)
			require.Error(t, late)
			seen := simtest.Seen{Committed: states(t, managerLeads+row.pod), Histories: map[string]*model.History{}}
			isFinding(t, late, seen, 67, !row.holds)
		})
	}
}
