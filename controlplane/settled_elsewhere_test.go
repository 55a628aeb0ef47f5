package controlplane_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchsim/watchsim/controlplane"
)

// While a node is off, the rest converges: what waits for that node is not wrong yet.
func TestSettledElsewhere(t *testing.T) {
	now := metav1.Now()
	ends := func(o *metav1.ObjectMeta) { o.DeletionTimestamp, o.Finalizers = &now, []string{"f"} }
	for name, row := range map[string]struct {
		change func(w *world, daemon *corev1.Pod)
		wrong  string
	}{
		"nothing":          {func(*world, *corev1.Pod) {}, ""},
		"a slow rollout":   {func(w *world, _ *corev1.Pod) { w.deployment.Status.UpdatedReplicas = 0 }, ""},
		"too few replicas": {func(w *world, _ *corev1.Pod) { w.set.Spec.Replicas = new(int32(2)) }, "replica set r/set wants 2"},
		"too few replicas of a set that is being deleted": {func(w *world, _ *corev1.Pod) {
			w.set.Spec.Replicas = new(int32(2))
			ends(&w.set.ObjectMeta)
		}, ""},
		"too few replicas in a namespace that is being deleted": {func(w *world, _ *corev1.Pod) {
			w.set.Spec.Replicas = new(int32(2))
			ends(&w.spaces[0].ObjectMeta)
		}, ""},
		"too few replicas beside a namespace that is being deleted": {func(w *world, _ *corev1.Pod) {
			w.set.Spec.Replicas = new(int32(2))
			ends(&w.spaces[1].ObjectMeta)
		}, "replica set r/set wants 2"},
		"a cron job that is late in a namespace that is being deleted": {func(w *world, _ *corev1.Pod) {
			w.schedules(2 * time.Minute)
			ends(&w.spaces[0].ObjectMeta)
		}, "cron job r/cron is being suspended"},
		"no daemon":          {func(_ *world, d *corev1.Pod) { d.OwnerReferences = nil }, "daemon set r/daemon has no pod on node n"},
		"a daemon that ends": {func(_ *world, d *corev1.Pod) { ends(&d.ObjectMeta) }, "daemon set r/daemon has no pod on node n"},
		"a daemon that a user keeps": {func(_ *world, d *corev1.Pod) {
			ends(&d.ObjectMeta)
			d.Finalizers = []string{"example.com/release"}
		}, ""},
		"a daemon on the node that is off": {func(_ *world, d *corev1.Pod) { d.Spec.NodeName = "off" }, "daemon set r/daemon has no pod on node n"},
		"no daemon for a node without label": {func(w *world, d *corev1.Pod) {
			d.OwnerReferences, w.daemon.Spec.Template.Spec.NodeSelector = nil, map[string]string{"disk": "fast"}
		}, ""},
		"no daemon of a set that is being deleted": {func(w *world, d *corev1.Pod) {
			d.OwnerReferences = nil
			ends(&w.daemon.ObjectMeta)
		}, ""},
		"a deployment whose spec has changed":   {func(w *world, _ *corev1.Pod) { w.deployment.Generation++ }, "r/deployment is at generation 2, and its controller has observed 1"},
		"a replica set whose spec has changed":  {func(w *world, _ *corev1.Pod) { w.set.Generation++ }, "r/set is at generation 2"},
		"a stateful set whose spec has changed": {func(w *world, _ *corev1.Pod) { w.stateful.Generation++ }, "r/stateful is at generation 2"},
		"a daemon set whose spec has changed":   {func(w *world, _ *corev1.Pod) { w.daemon.Generation++ }, "r/daemon is at generation 2"},
		"a stateful set that is being deleted": {func(w *world, _ *corev1.Pod) {
			w.stateful.Generation++
			ends(&w.stateful.ObjectMeta)
		}, ""},
		"a deployment that is being deleted": {func(w *world, _ *corev1.Pod) {
			w.deployment.Generation++
			ends(&w.deployment.ObjectMeta)
		}, ""},
		"a status of a predecessor": {func(w *world, _ *corev1.Pod) { w.daemon.Status.ObservedGeneration++ }, ""},
		"an orphan":                 {func(w *world, _ *corev1.Pod) { w.secret.OwnerReferences[0].UID = "gone" }, "has no owner left"},
		"a pod whose claim another pod has": {func(w *world, d *corev1.Pod) {
			w.uses("")
			d.Spec.Volumes, w.claim.Spec.AccessModes = w.pod.Spec.Volumes, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
		}, ""},
		"a pod whose claim is for many pods": {func(w *world, d *corev1.Pod) {
			w.uses("")
			d.Spec.Volumes = w.pod.Spec.Volumes
		}, "pod r/pod is Running on node \"\" and not ready"},
		"a claim that is not bound": {func(w *world, _ *corev1.Pod) { w.waitsFor("now") }, "claim r/claim of class now is Pending"},
		"an orphan that is being deleted": {func(w *world, _ *corev1.Pod) {
			w.secret.OwnerReferences[0].UID = "gone"
			ends(&w.secret.ObjectMeta)
		}, ""},
		"a pod that is not ready": {func(_ *world, d *corev1.Pod) { d.Status.Conditions = nil }, "pod r/daemon-n is Running"},
		"a pod that is not ready on the node that is off": {func(w *world, _ *corev1.Pod) {
			w.pod.Spec.NodeName, w.pod.Status.Conditions, w.slice.Endpoints, w.budget.Status.CurrentHealthy = "off", nil, nil, 0
		}, ""},
		"a pod that stays too long": {func(w *world, d *corev1.Pod) {
			d.Spec.NodeName, d.Spec.Tolerations[0].TolerationSeconds = "off", new(int64(50))
		}, "pod r/daemon-n stays on node off, which has had NoExecute taints for 5m0s, and tolerates them for 50s"},
		"a pod that does not tolerate the node": {func(w *world, d *corev1.Pod) {
			d.Spec.NodeName, d.Spec.Tolerations = "off", nil
		}, "pod r/daemon-n stays on node off"},
		"a pod that may stay for a while": {func(w *world, _ *corev1.Pod) {
			w.node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, TimeAdded: new(metav1.NewTime(time.Now().Add(-time.Minute)))}}
			w.pod.Spec.Tolerations[0].TolerationSeconds = new(int64(70))
		}, ""},
		"a pod that tolerates nothing on another node": {func(w *world, _ *corev1.Pod) { w.pod.Spec.Tolerations = nil }, ""},
		"a pod that ends in time": {func(w *world, d *corev1.Pod) {
			w.pod.Spec.NodeName, w.pod.Spec.Tolerations, w.slice.Endpoints, w.budget.Status.CurrentHealthy = "off", nil, nil, 0
			w.set.Spec.Replicas, w.set.Status.Replicas, w.pod.Status.Conditions = new(int32(0)), 0, nil
			ends(&w.pod.ObjectMeta)
		}, ""},
		"a pending pod": {func(w *world, _ *corev1.Pod) {
			w.pod.Spec.NodeName, w.pod.Status.Conditions, w.slice.Endpoints, w.budget.Status.CurrentHealthy = "", nil, nil, 0
		}, "pod r/pod is Running on node \"\" and not ready"},
		"a pending pod with room only on the node that is off": {func(w *world, _ *corev1.Pod) {
			w.pod.Spec.NodeName, w.pod.Status.Conditions, w.slice.Endpoints, w.budget.Status.CurrentHealthy = "", nil, nil, 0
			w.pod.Spec.Containers = asking("2")
		}, ""},
		"a budget with a wrong count": {func(w *world, _ *corev1.Pod) { w.budget.Status.CurrentHealthy = 2 }, "budget r/budget counts 2"},
		"a removed endpoint in a namespace that is being deleted": {func(w *world, _ *corev1.Pod) {
			w.slice.Endpoints = nil
			ends(&w.spaces[0].ObjectMeta)
		}, ""},
		"an endpoint that only an endpoint slice has that is being deleted": {func(w *world, _ *corev1.Pod) { ends(&w.slice.ObjectMeta) }, "service r/service has 0 endpoints"},
		"a removed endpoint": {func(w *world, _ *corev1.Pod) { w.slice.Endpoints = nil }, "service r/service has 0 endpoints"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("WATCHSIM_MUTANT", "")
			w := settled()
			w.set.Status.ObservedGeneration = 1
			w.node.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("9")
			off := w.node.DeepCopy()
			off.Name, off.UID = "off", "off"
			off.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("4")
			off.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, TimeAdded: new(metav1.NewTime(time.Now().Add(-5 * time.Minute)))}}
			w.pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(130))}}
			daemon := w.pod.DeepCopy()
			daemon.ObjectMeta = meta("daemon-n")
			daemon.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "daemon", UID: "daemon", Controller: new(true)}}
			row.change(w, daemon)
			client := w.client()
			require.NoError(t, client.Tracker().Add(off))
			require.NoError(t, client.Tracker().Add(daemon))
			err := controlplane.SettledElsewhere(t.Context(), client, w.untyped())
			if row.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.True(t, controlplane.Due(err))
			require.ErrorContains(t, err, row.wrong)
		})
	}
}
