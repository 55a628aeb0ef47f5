package controlplane_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchsim/watchsim/controlplane"
	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/simtest"
	"github.com/watchsim/watchsim/traces/importer"
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

// Job r/job is recreated, and the informers of a controller manager observe both jobs. The manager had created a pod for the first.
func TestAJobIsReplacedInAList(t *testing.T) {
	begins := func(w *world) { w.job.Status.Conditions = nil }
	for name, row := range map[string]struct {
		wrong                func(*world)
		name, creator, agent string
		deletion, holds      bool // whether a watch delivers the deletion
	}{
		"by a list":          {begins, "job", "manager-0", sharedAgent, false, false},
		"by a watch":         {begins, "job", "manager-0", sharedAgent, true, true},
		"another's pod":      {begins, "job", "user", sharedAgent, false, true},
		"to other informers": {begins, "job", "manager-0", "metadata-informers", false, true},
		"of another kind":    {func(w *world) { w.stateful.Status.UpdatedReplicas = 0 }, "stateful", "manager-0", sharedAgent, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled()
			row.wrong(w)
			late := controlplane.Late(w.settles(t), time.Hour, 0)
			require.Error(t, late)
			job := func(uid string, rv int64) model.Object {
				return model.Object{Namespace: "r", Name: row.name, UID: uid, RV: rv}
			}
			told := []model.Event{{Type: model.Added, RV: 1, Object: new(job("old", 1))}, {Type: model.Deleted, RV: 3, Object: new(job("old", 3))}, {Type: model.Modified, RV: 4, Object: new(job(row.name, 4))}}
			if !row.deletion {
				told = slices.Delete(told, 1, 2)
			}
			committed := states(t, managerLeads+"pods/r/p "+pod("p", owned("Job", "old"), "", ""))
			jobs := &model.History{
				Truth:   model.Truth{Changes: []model.Change{{RV: 1, Object: job("old", 1)}, {RV: 3, Deleted: true, Object: job("old", 3)}, {RV: 4, Object: job(row.name, 4)}}},
				Streams: []model.Stream{{ID: 1, Client: "manager-0", Call: 1, Events: told}},
			}
			pods := &model.History{Operations: []model.Operation{{Kind: model.Create, Client: row.creator, ResultRV: committed.Changes[len(committed.Changes)-1].RV}}}
			opened := &importer.Told{Exchange: importer.Exchange{Kind: model.List, Request: importer.Request{Watch: true}, Client: "manager-0", Call: 1, Agent: "kube-controller-manager/" + row.agent}}
			of := map[string]string{"job": "jobs.batch", "stateful": "statefulsets.apps"}[row.name]
			seen := simtest.Seen{Committed: committed, Histories: map[string]*model.History{of: jobs, "pods": pods}, Requests: map[string][]*importer.Told{of: {opened}}}
			isFinding(t, late, seen, 69, !row.holds)
		})
	}
}

// sharedAgent ends the User-Agent of shared informers.
const sharedAgent = "shared-informers"
