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
	const lease = `leases/kube-system/kube-controller-manager {"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"uid":"l"},"spec":{"holderIdentity":"manager-0_1"}}`
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
			seen := simtest.Seen{Committed: states(t, strings.Join([]string{lease, row.pod, row.claim}, "\n")), Histories: map[string]*model.History{}}
			isFinding(t, late, seen, 62, !row.holds)
		})
	}
}
