package controlplane_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// uses makes the pod use the claim, and moves it to a node, "" for none.
func (w *world) uses(node string) {
	w.pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}}}}
	if w.pod.Spec.NodeName = node; node == "" {
		w.pod.Status.Conditions, w.slice.Endpoints, w.budget.Status.CurrentHealthy = nil, nil, 0
	}
}

// usesScratch makes the claim that of an ephemeral volume of the pod, which is on no node.
func (w *world) usesScratch() {
	w.uses("")
	w.pod.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
	w.claim.Name, w.volume.Spec.ClaimRef.Name = "pod-scratch", "pod-scratch"
}

// waitsFor makes the claim of a class wait for its volume.
func (w *world) waitsFor(class string) {
	w.claim.Spec.StorageClassName, w.claim.Spec.VolumeName, w.claim.Status.Phase = &class, "", corev1.ClaimPending
	w.volume.Spec.ClaimRef.UID, w.volume.Spec.PersistentVolumeReclaimPolicy, w.volume.Status.Phase = "gone", corev1.PersistentVolumeReclaimRetain, corev1.VolumeReleased
}

// ends gives an object a deletionTimestamp.
func ends(o metav1.Object) {
	o.SetDeletionTimestamp(new(metav1.Now()))
	o.SetFinalizers([]string{"f"})
}

// owns makes the pod that of a stateful set whose claim is the claim, with a policy for the set's deletion.
func (w *world) owns(policy appsv1.PersistentVolumeClaimRetentionPolicyType, owners ...metav1.OwnerReference) {
	w.runs("StatefulSet", "stateful")
	w.pod.Name, w.claim.Name, w.volume.Spec.ClaimRef.Name, w.claim.OwnerReferences = "stateful-0", "data-stateful-0", "data-stateful-0", owners
	w.stateful.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	w.stateful.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: policy, WhenScaled: appsv1.DeletePersistentVolumeClaimRetentionPolicyType}
	w.pod.Spec.Containers[0].Image = "new"
	w.pod.Labels["controller-revision-hash"] = w.stateful.Status.UpdateRevision
}

func TestVolumesSettle(t *testing.T) {
	ofSet := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "stateful", UID: "stateful", Controller: new(true)}
	ofPod := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "stateful-0", UID: "pod", Controller: new(true)}
	const unbound = "claim r/claim of class now is Pending"
	for name, row := range map[string]struct {
		change func(*world)
		wrong  string // "" for no error
	}{
		"a claim that is not bound": {func(w *world) { w.waitsFor("now") }, unbound},
		"a claim without a class":   {func(w *world) { w.waitsFor("now"); w.claim.Spec.StorageClassName = nil }, ""},
		"a claim of another class":  {func(w *world) { w.waitsFor("others") }, ""},
		"a volume of another class": {func(w *world) {
			w.volume.Spec.StorageClassName, w.volume.Status.Phase = "others", corev1.VolumeAvailable
		}, ""},
		"a claim that waits for a pod":     {func(w *world) { w.waitsFor("late") }, ""},
		"a claim whose pod waits":          {func(w *world) { w.waitsFor("late"); w.uses("") }, `pod r/pod is Running on node "" and not ready`},
		"a claim whose pod has no room":    {func(w *world) { w.waitsFor("late"); w.uses(""); w.pod.Spec.Containers = asking("2") }, ""},
		"a claim that has lost its volume": {func(w *world) { w.waitsFor("late"); w.claim.Status.Phase = corev1.ClaimLost }, "is Lost"},
		"a terminating claim":              {func(w *world) { ends(&w.claim) }, "r/claim is terminating and is not removed"},
		"a terminating claim that is used": {func(w *world) { ends(&w.claim); w.uses("n") }, ""},
		"a terminating claim that is used, without an owner": {func(w *world) {
			ends(&w.claim)
			w.uses("n")
			w.claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "stateful", UID: "gone"}}
		}, ""},
		"a claim without an owner": {func(w *world) {
			w.uses("n")
			w.claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "stateful", UID: "gone"}}
		}, "r/claim has no owner left"},
		"a terminating claim of a pod on no node": {func(w *world) { ends(&w.claim); w.uses("") }, "r/claim is terminating and is not removed"},
		"a terminating volume":                    {func(w *world) { ends(&w.volume); w.volume.Spec.ClaimRef.UID = "gone" }, "volume is terminating and is not removed"},
		"a terminating volume that is bound":      {func(w *world) { ends(&w.volume) }, ""},
		"a volume that is not bound":              {func(w *world) { w.volume.Status.Phase = corev1.VolumeAvailable }, "volume volume is Available"},
		"a volume that is left": {func(w *world) {
			w.waitsFor("late")
			w.volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
		}, "volume volume is Released with reclaim policy Delete"},
		"a volume that is kept":        {func(w *world) { w.waitsFor("late") }, ""},
		"a volume whose claim is gone": {func(w *world) { w.waitsFor("late"); w.volume.Status.Phase = corev1.VolumeBound }, "volume volume is Bound with reclaim policy Retain"},
		"a pod whose claim is missing": {func(w *world) { w.uses(""); w.pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName = "none" }, ""},
		"a daemon whose claim is missing": {func(w *world) {
			w.runs("DaemonSet", "daemon")
			w.uses("")
			w.pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName = "none"
		}, ""},
		"a daemon of another template":   {func(w *world) { w.runs("DaemonSet", "daemon") }, `pod r/pod of DaemonSet daemon runs image "old"`},
		"a pod whose claim was orphaned": {func(w *world) { w.usesScratch() }, ""},
		"a pod whose claim is another pod's": {func(w *world) {
			w.usesScratch()
			w.claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n", UID: "n"}}
		}, `pod r/pod is Running on node "" and not ready`},
		"a pod that does not start":                {func(w *world) { w.uses("") }, "pod r/pod is Running on node \"\" and not ready"},
		"a claim that is deleted with its set":     {func(w *world) { w.owns("Delete", ofSet) }, ""},
		"a claim that is kept":                     {func(w *world) { w.owns("Retain") }, ""},
		"a claim that is not deleted with its set": {func(w *world) { w.owns("Delete") }, "claim r/data-stateful-0 of stateful set r/stateful, whose policy is Delete and Delete"},
		"a claim of a set that lacks pods": {func(w *world) {
			w.owns("Delete")
			w.quota.Spec.Hard[corev1.ResourcePods] = resource.MustParse("1")
		}, ""},
		"a claim that is deleted with a set that should keep it": {func(w *world) { w.owns("Retain", ofSet) }, "claim r/data-stateful-0 of stateful set r/stateful, whose policy is Retain and Delete"},
		"a claim that is deleted with a pod that stays":          {func(w *world) { w.owns("Retain", ofPod) }, "claim r/data-stateful-0 of stateful set r/stateful, whose policy is Retain and Delete"},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled()
			row.change(w)
			if err := w.settles(t); row.wrong == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, row.wrong)
			}
		})
	}
}
