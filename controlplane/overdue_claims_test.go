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

// A pod of stateful set r/stateful is deleted in the foreground and owns a claim, which waits until no pod uses it.
func TestAPodAndItsClaimWaitForEachOther(t *testing.T) {
	foreground := "pods/r/stateful-1 " + pod("p", `,"namespace":"r","name":"stateful-1","finalizers":["foregroundDeletion"]`+dying, bound, "")
	claim := `persistentvolumeclaims/r/c {"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"uid":"c","namespace":"r","name":"c"` + protected + dying + owned("Pod", "p") + `}}`
	behind := func(w *world) { w.stateful.Status.AvailableReplicas-- }
	end := metav1.NewTime(time.Unix(1, 0))
	for name, row := range map[string]struct {
		pod, claim string
		wrong      func(*world)
		holds      bool
	}{
		"the stateful set waits": {foreground, claim, behind, false},
		"the pod waits": {foreground, claim, func(w *world) {
			w.pod.DeletionTimestamp, w.pod.UID, w.pod.Finalizers = &end, "p", []string{"foregroundDeletion"}
		}, false},
		"the claim waits":                {strings.ReplaceAll(foreground, `"p"`, `"claim"`), strings.NewReplacer(`"c"`, `"pod"`, `"p"`, `"claim"`).Replace(claim), func(w *world) { w.pod.DeletionTimestamp, w.pod.Finalizers = &end, []string{"x"} }, false},
		"the namespace ends":             {foreground, claim, func(w *world) { w.spaces[0].DeletionTimestamp, w.spaces[0].Finalizers = &end, []string{"kubernetes"} }, false},
		"another stateful set waits":     {strings.ReplaceAll(foreground, "stateful-1", "other-1"), claim, behind, true},
		"another pod waits":              {foreground, claim, func(w *world) { w.pod.DeletionTimestamp, w.pod.Finalizers = &end, []string{"x"} }, true},
		"of another namespace":           {strings.ReplaceAll(strings.ReplaceAll(foreground, "/r/", "/s/"), `"r"`, `"s"`), strings.ReplaceAll(strings.ReplaceAll(claim, "/r/", "/s/"), `"r"`, `"s"`), behind, true},
		"deleted in the background":      {strings.Replace(foreground, "foregroundDeletion", "x", 1), claim, behind, true},
		"the pod is gone":                {foreground + "\npods/r/stateful-1 -", claim, behind, true},
		"the claim is not being deleted": {foreground, strings.Replace(claim, dying, "", 1), behind, true},
		"the claim is not protected":     {foreground, strings.Replace(claim, protected, "", 1), behind, true},
		"the claim belongs to the set":   {foreground, strings.Replace(claim, `"uid":"p"`, `"uid":"stateful"`, 1), behind, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled()
			row.wrong(w)
			late := controlplane.Late(w.settles(t), time.Hour, 0)
			require.Error(t, late)
			seen := simtest.Seen{Committed: states(t, managerLeads+strings.Join([]string{row.pod, row.claim}, "\n")), Histories: map[string]*model.History{}}
			isFinding(t, late, seen, 62, !row.holds)
		})
	}
}

// The pod of a replica set was placed before its claim was created, for which nobody selects a node.
func TestNobodySelectsANode(t *testing.T) {
	const (
		set  = `replicasets/r/set {"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"uid":"set","namespace":"r","name":"set","ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"deployment","uid":"deployment","controller":true}]}}`
		late = `"storageClassName":"late"`
	)
	placed, waits := strings.TrimSpace(using("pod", owned("ReplicaSet", "set"), bound, "Pending")), strings.TrimSpace(claim("c", "", late, "Pending"))
	unready := func(w *world) { w.pod.Status.Conditions = nil }
	for name, row := range map[string]struct {
		states []string
		wrong  func(*world)
		holds  bool
	}{
		"the pod waits":                     {[]string{placed, waits}, unready, false},
		"the claim waits":                   {[]string{placed, waits}, func(w *world) { w.waitsFor("now"); w.claim.UID = "c" }, false},
		"the replica set waits":             {[]string{placed, waits}, func(w *world) { w.set.Status.Replicas-- }, false},
		"the deployment waits":              {[]string{placed, waits}, func(w *world) { w.deployment.Status.AvailableReplicas-- }, false},
		"the stateful set waits":            {[]string{placed, waits}, func(w *world) { w.stateful.Status.AvailableReplicas-- }, true},
		"the claim was there":               {[]string{waits, placed}, unready, true},
		"the pod is gone":                   {[]string{placed, waits, "pods/r/pod -"}, unready, true},
		"the pod is not placed":             {[]string{strings.Replace(placed, bound, `"nodeName":""`, 1), waits}, unready, true},
		"the claim is in another namespace": {[]string{placed, strings.ReplaceAll(strings.ReplaceAll(waits, "/r/", "/s/"), `"r"`, `"s"`)}, unready, true},
		"the claim has another name":        {[]string{placed, strings.ReplaceAll(waits, `"name":"c"`, `"name":"d"`)}, unready, true},
		"the claim is bound":                {[]string{placed, strings.Replace(waits, late, late+","+onV, 1)}, unready, true},
		"the claim is being deleted":        {[]string{placed, strings.TrimSpace(claim("c", dying, late, "Pending"))}, unready, true},
		"the claim waits for nobody":        {[]string{placed, strings.Replace(waits, `"late"`, `"now"`, 1)}, unready, true},
		"a node is selected":                {[]string{placed, strings.TrimSpace(claim("c", `,"annotations":{"volume.kubernetes.io/selected-node":"n"}`, late, "Pending"))}, unready, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled()
			row.wrong(w)
			late := controlplane.Late(w.settles(t), time.Hour, 0)
			require.Error(t, late)
			seen := simtest.Seen{Committed: states(t, managerLeads+strings.Join(append([]string{set}, row.states...), "\n")), Histories: map[string]*model.History{}}
			isFinding(t, late, seen, 63, !row.holds)
		})
	}
}
