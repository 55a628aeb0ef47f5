package controlplane_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/watchsim/watchsim/controlplane"
)

func TestSettled(t *testing.T) {
	ends := metav1.Now()
	for name, row := range map[string]struct {
		change func(*world)
		wrong  string // "" for no error
	}{
		"converged": {func(*world) {}, ""},
		"an unreachable node": {func(w *world) {
			w.node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule}}
		}, "node n is tainted with node.kubernetes.io/unreachable:NoSchedule"},
		"an orphan": {func(w *world) { w.pod.OwnerReferences[0].UID = "gone" }, "has no owner left"},
		"an owner of another namespace": {func(w *world) {
			w.secret.OwnerReferences[0] = metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job"}
			w.secret.Namespace = "b"
		}, "*v1.Secret b/secret has no owner left (Job job"},
		"an owner of another name":            {func(w *world) { w.secret.OwnerReferences[0].Name = "m" }, "*v1.Secret r/secret has no owner left (Node m"},
		"an owner of another kind":            {func(w *world) { w.secret.OwnerReferences[0].Kind = "Secret" }, "*v1.Secret r/secret has no owner left (Secret n"},
		"a custom owner":                      {func(w *world) { w.isOwnedBy("Custom", "custom") }, ""},
		"a custom owner that is gone":         {func(w *world) { w.isOwnedBy("Custom", "gone") }, "*v1.Secret r/secret has no owner left (Custom custom, UID gone)"},
		"a custom owner without a definition": {func(w *world) { w.isOwnedBy("Gauge", "gone") }, ""},
		"a custom owner whose definition is being deleted": {func(w *world) {
			w.isOwnedBy("Custom", "gone")
			w.definition.DeletionTimestamp = &ends
		}, "*v1.CustomResourceDefinition customs.example.com is terminating and is not removed"},
		"a custom owner that cannot be listed": {func(w *world) {
			w.isOwnedBy("Custom", "gone")
			w.unserved = true
		}, "the objects of customs.example.com cannot be listed: unserved"},
		"a custom owner that is not served": {func(w *world) {
			w.isOwnedBy("Custom", "gone")
			w.definition.Spec.Versions[0].Served = false
		}, ""},
		"a custom object in a namespace that is gone": {func(w *world) {
			w.custom.SetNamespace("gone")
		}, "Custom gone/custom is in a namespace that is gone"},
		"a custom object that is older than its definition": {func(w *world) {
			w.custom.SetNamespace("gone")
			w.definition.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 1, 0, time.UTC))
		}, ""},
		"a custom owner that is older than its definition": {func(w *world) {
			w.isOwnedBy("Custom", "custom")
			w.definition.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 2, 0, time.UTC))
		}, ""},
		"a custom object whose owner is gone": {func(w *world) {
			w.custom.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: "secret", UID: "gone"}})
		}, "Custom r/custom has no owner left (Secret secret, UID gone)"},
		"a custom object that does not end":           {func(w *world) { w.custom.SetDeletionTimestamp(&ends) }, "Custom r/custom is terminating and is not removed"},
		"a finalizer that is not removed":             {func(w *world) { w.job.DeletionTimestamp, w.job.Finalizers = &ends, []string{"f"} }, "is terminating and is not removed"},
		"a rollout that hangs":                        {func(w *world) { w.deployment.Status.UpdatedReplicas = 0 }, "deployment r/deployment wants 1"},
		"a rollout that hangs, annotation up to date": {func(w *world) { w.hangs("1") }, "deployment r/deployment wants 1"},
		"finding 32": {func(w *world) { w.hangs("3") }, ""},
		"finding 32 with its fix": {func(w *world) {
			t.Setenv("WATCHSIM_MUTANT", "fix-finding-32")
			w.hangs("3")
		}, "deployment r/deployment wants 1"},
		"a deployment that was not observed":  {func(w *world) { w.deployment.Generation = 2 }, "deployment r/deployment wants 1"},
		"a missing replica":                   {func(w *world) { w.set.Spec.Replicas = new(int32(2)) }, "replica set r/set wants 2"},
		"a wrong status of a replica set":     {func(w *world) { w.set.Status.Replicas = 2 }, "replica set r/set wants 1"},
		"a stateful set with an old revision": {func(w *world) { w.stateful.Status.CurrentRevision = "old" }, "stateful set r/stateful wants 1"},
		"a node without its daemon":           {func(w *world) { w.daemon.Status.NumberAvailable = 0 }, "daemon set r/daemon is for 1 nodes, and has 0 available"},
		"an old daemon pod":                   {func(w *world) { w.daemon.Status.UpdatedNumberScheduled = 0 }, "daemon set r/daemon is for 1 nodes, and has 1 available and 0 updated"},
		"an old daemon pod that users replace": {func(w *world) {
			w.daemon.Status.UpdatedNumberScheduled, w.daemon.Spec.UpdateStrategy.Type = 0, appsv1.OnDeleteDaemonSetStrategyType
		}, ""},
		"an old stateful pod": {func(w *world) { w.stateful.Status.UpdatedReplicas = 0 }, "stateful set r/stateful wants 1 replicas, 1 of them updated"},
		"an old stateful pod that users replace": {func(w *world) {
			w.stateful.Status.UpdatedReplicas, w.stateful.Spec.UpdateStrategy.Type = 0, appsv1.OnDeleteStatefulSetStrategyType
		}, ""},
		"an old stateful pod below the partition": {func(w *world) {
			w.stateful.Status.UpdatedReplicas, w.stateful.Spec.UpdateStrategy.RollingUpdate = 0, &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(1))}
		}, ""},
		"a stateful pod that is not available": {func(w *world) { w.stateful.Status.AvailableReplicas = 0 }, "stateful set r/stateful wants 1"},
		"an old pod of a deployment":           {func(w *world) { w.runs("ReplicaSet", "set") }, `pod r/pod of ReplicaSet set runs image "old", and its template says "new"`},
		"an old pod of a paused deployment": {func(w *world) {
			w.runs("ReplicaSet", "set")
			w.deployment.Spec.Paused = true
		}, ""},
		"an old pod of a stateful set": {func(w *world) { w.runs("StatefulSet", "stateful") }, `pod r/pod of StatefulSet stateful runs image "old"`},
		"an old pod of a stateful set, below the partition": {func(w *world) {
			w.runs("StatefulSet", "stateful")
			w.stateful.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(1))}
		}, ""},
		"an old pod of a daemon set": {func(w *world) { w.runs("DaemonSet", "daemon") }, `pod r/pod of DaemonSet daemon runs image "old"`},
		"an old pod of a daemon set, which users replace": {func(w *world) {
			w.runs("DaemonSet", "daemon")
			w.daemon.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
		}, ""},
		"finding 40": {func(w *world) {
			w.runs("DaemonSet", "daemon")
			w.daemon.Annotations, w.pod.Labels["pod-template-generation"] = map[string]string{"deprecated.daemonset.template.generation": "1"}, "1"
		}, ""},
		"not finding 40": {func(w *world) {
			w.runs("DaemonSet", "daemon")
			w.daemon.Annotations, w.pod.Labels["pod-template-generation"] = map[string]string{"deprecated.daemonset.template.generation": "2"}, "1"
		}, `pod r/pod of DaemonSet daemon runs image "old"`},
		"finding 40 with its fix": {func(w *world) {
			t.Setenv("WATCHSIM_MUTANT", "fix-finding-40")
			w.runs("DaemonSet", "daemon")
			w.daemon.Annotations, w.pod.Labels["pod-template-generation"] = map[string]string{"deprecated.daemonset.template.generation": "1"}, "1"
		}, `pod r/pod of DaemonSet daemon runs image "old"`},
		"finding 42": {func(w *world) { w.waits(ends) }, "job r/job is deleted by hand"},
		"finding 42 with its fix": {func(w *world) {
			t.Setenv("WATCHSIM_MUTANT", "fix-finding-42")
			w.waits(ends)
		}, "*v1.Namespace r is terminating"},
		"a namespace that waits for a job that is being deleted": {func(w *world) {
			w.waits(ends)
			w.job.DeletionTimestamp, w.job.Finalizers = &ends, []string{"f"}
		}, "*v1.Namespace r is terminating"},
		"a namespace that waits for a job without indexes": {func(w *world) {
			w.waits(ends)
			w.job.Spec.BackoffLimitPerIndex = nil
		}, "*v1.Namespace r is terminating"},
		"a job in a namespace that stays": {func(w *world) {
			w.waits(ends)
			w.spaces[0].DeletionTimestamp = nil
		}, "*v1.Pod r/pod is terminating"},
		"finding 47": {func(w *world) { w.overlaps("0,2-4", "3") }, "job r/job is deleted by hand"},
		"finding 47 with its fix": {func(w *world) {
			t.Setenv("WATCHSIM_MUTANT", "fix-finding-47")
			w.overlaps("0,2-4", "3")
		}, "*v1.Pod r/pod is terminating"},
		"a job whose first index has failed":      {func(w *world) { w.overlaps("0,2-4", "0") }, "job r/job is deleted by hand"},
		"a job of which another index has failed": {func(w *world) { w.overlaps("0,2-4", "1") }, "*v1.Pod r/pod is terminating"},
		"a job of which no index has failed":      {func(w *world) { w.overlaps("", "0") }, "*v1.Pod r/pod is terminating"},
		"a job whose failed index fails again": {func(w *world) {
			w.overlaps("0", "0")
			w.pod.Status.Phase = corev1.PodFailed
		}, "*v1.Pod r/pod is terminating"},
		"finding 50": {func(w *world) { w.forgets("gone", "other") }, "pod r/pod loses its finalizer by hand"},
		"finding 50 with its fix": {func(w *world) {
			t.Setenv("WATCHSIM_MUTANT", "fix-finding-50")
			w.forgets("gone", "other")
		}, "*v1.Pod r/pod has no owner left"},
		"a pod of a job that is gone, which selected it": {func(w *world) { w.forgets("gone", "gone") }, "*v1.Pod r/pod has no owner left"},
		"a pod that its job does not select, which is being deleted": {func(w *world) {
			w.forgets("job", "other")
			w.job.DeletionTimestamp, w.job.Finalizers = &ends, []string{"f"}
		}, "pod r/pod loses its finalizer by hand"},
		"a pod that its job does not select": {func(w *world) { w.forgets("job", "other") }, "*v1.Pod r/pod is terminating"},
		"a pod that its job does not select, and that stays": {func(w *world) {
			w.forgets("gone", "other")
			w.pod.DeletionTimestamp = nil
		}, "*v1.Pod r/pod has no owner left"},
		"a paused deployment":         {func(w *world) { w.deployment.Spec.Paused, w.deployment.Status.UpdatedReplicas = true, 0 }, ""},
		"a cron job that is late":     {func(w *world) { w.schedules(2 * time.Minute) }, "cron job r/cron has begun no job since"},
		"a cron job that never began": {func(w *world) { w.cron.Spec.Suspend = nil }, "cron job r/cron has begun no job since 00:00:00"},
		"a cron job in time":          {func(w *world) { w.schedules(time.Second) }, "cron job r/cron is being suspended"},
		"a cron job that waits for its last job": {func(w *world) {
			w.schedules(2 * time.Minute)
			w.runsCronJob("job")
			w.cron.Spec.ConcurrencyPolicy, w.job.Status.Conditions = batchv1.ForbidConcurrent, nil
		}, "cron job r/cron is being suspended"},
		"an active job": {func(w *world) {
			w.runsCronJob("job")
			w.job.Status.Conditions, w.job.Spec.Suspend = nil, new(true)
		}, ""},
		"an active job that is not listed": {func(w *world) {
			w.runsCronJob()
			w.job.Status.Conditions, w.job.Spec.Suspend = nil, new(true)
		}, "cron job r/cron does not list job job as active"},
		"a listed job that is gone":       {func(w *world) { w.runsCronJob("gone") }, "cron job r/cron lists job gone as active, which is not"},
		"a finished job beyond the limit": {func(w *world) { w.runsCronJob() }, "cron job r/cron keeps 1 Complete jobs, and should keep 0"},
		"a finished job within the limit": {func(w *world) {
			w.runsCronJob()
			w.cron.Spec.SuccessfulJobsHistoryLimit = new(int32(1))
		}, ""},
		"a failed job beyond the limit": {func(w *world) {
			w.runsCronJob()
			w.job.Status.Conditions[0].Type = batchv1.JobFailed
		}, "cron job r/cron keeps 1 Failed jobs"},
		"a daemon pod on a node that is not selected": {func(w *world) { w.daemon.Spec.Template.Spec.NodeSelector = map[string]string{"disk": "fast"} }, "daemon set r/daemon is for 0 nodes"},
		"a job that does not begin":                   {func(w *world) { w.job.Status.Conditions = nil }, "job r/job has not begun"},
		"a job that hangs":                            {func(w *world) { w.job.Status = batchv1.JobStatus{Succeeded: 1} }, "job r/job has not finished: 0 active, 1 succeeded"},
		"a job that hangs with a pod": {func(w *world) {
			w.job.Status.Conditions, w.set.Spec.Replicas, w.set.Status.Replicas = nil, new(int32(0)), 0
			w.pod.OwnerReferences[0] = metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job", Controller: new(true)}
		}, "job r/job has not finished"},
		"a job that ignores failures":                    {func(w *world) { w.fails(0) }, ""},
		"a job that ignores fewer failures":              {func(w *world) { w.fails(1) }, "job r/job has not finished"},
		"a job with a failed pod, without such a policy": {func(w *world) { w.fails(0); w.job.Spec.PodFailurePolicy = nil }, "job r/job has not finished"},
		"a job started in the future": {func(w *world) {
			w.job.Status = batchv1.JobStatus{StartTime: new(metav1.NewTime(ends.Add(time.Hour)))}
		}, ""},
		"an unscheduled pod": {func(w *world) { w.pod.Spec.NodeName = "" }, "pod r/pod is Running on node \"\" and not ready"},
		"a pod that fits nowhere": {func(w *world) {
			w.pod.Spec.NodeName, w.pod.Spec.Containers = "", asking("2")
			w.deployment.Generation = 2
			w.daemon.Generation = 2
		}, ""},
		"a pod that fits": {func(w *world) { w.pod.Spec.NodeName, w.pod.Spec.Containers = "", asking("1") }, "not ready"},
		"a namespace whose quota is used up": {func(w *world) {
			w.quota.Spec.Hard[corev1.ResourcePods] = resource.MustParse("1")
			w.set.Spec.Replicas = new(int32(2))
			w.stateful.Generation = 2
		}, ""},
		"finding 43": {func(w *world) {
			w.job.Spec.Suspend, w.job.Status.Conditions[0].Type = new(true), batchv1.JobSuccessCriteriaMet
		}, "job r/job is resumed by hand"},
		"finding 43 with its fix": {func(w *world) {
			t.Setenv("WATCHSIM_MUTANT", "fix-finding-43")
			w.job.Spec.Suspend, w.job.Status.Conditions[0].Type = new(true), batchv1.JobFailureTarget
		}, "job r/job has not finished"},
		"a job that is decided": {func(w *world) {
			w.job.Status.Succeeded, w.job.Status.Conditions[0].Type = 1, batchv1.JobSuccessCriteriaMet
		}, "job r/job has not finished"},
		"finding 44": {func(w *world) { w.scaled("0,2-3", 3, 1) }, "job r/job is given as much parallelism as completions by hand"},
		"finding 44 with its fix": {func(w *world) {
			t.Setenv("WATCHSIM_MUTANT", "fix-finding-44")
			w.scaled("0,2-3", 3, 1)
		}, "job r/job has not finished"},
		"a job that is scaled down by both":  {func(w *world) { w.scaled("0,2-3", 3, 3) }, "job r/job has not finished"},
		"a job with the indexes it wants":    {func(w *world) { w.scaled("0,2-3", 4, 1) }, "job r/job has not finished"},
		"a job whose last index is too high": {func(w *world) { w.scaled("0,9", 9, 1) }, "job r/job is given"},
		"a finished job that was scaled down": {func(w *world) {
			w.scaled("0,9", 9, 1)
			w.job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		}, ""},
		"a job with parallelism 0": {func(w *world) { w.job.Spec.Parallelism, w.job.Status.Conditions = new(int32(0)), nil }, ""},
		"a suspended job":          {func(w *world) { w.job.Spec.Suspend, w.job.Status.Conditions = new(true), nil }, ""},
		"a suspended job with a pod": {func(w *world) {
			w.job.Spec.Suspend, w.job.Status.Conditions, w.set.Spec.Replicas, w.set.Status.Replicas = new(true), nil, new(int32(0)), 0
			w.pod.OwnerReferences[0] = metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job", Controller: new(true)}
		}, "job r/job is suspended or has parallelism 0, and has 1 pods"},
		"a failed pod that its job cannot replace": {func(w *world) {
			w.keepsFailed()
			w.quota.Spec.Hard[corev1.ResourcePods] = resource.MustParse("0")
		}, ""},
		"a failed pod that its job can replace": {func(w *world) { w.keepsFailed() }, "r/pod is terminating and is not removed"},
		"a failed pod of a job without a limit per index": {func(w *world) {
			w.keepsFailed()
			w.job.Spec.BackoffLimitPerIndex = nil
			w.quota.Spec.Hard[corev1.ResourcePods] = resource.MustParse("0")
		}, "r/pod is terminating and is not removed"},
		"an object in a namespace that is gone": {func(w *world) { w.spaces[0].Name = "s" }, "is in a namespace that is gone"},
		"a budget with a wrong count":           {func(w *world) { w.budget.Status.CurrentHealthy = 2 }, "budget r/budget counts 2 healthy pods, and there are 1"},
		"an endpoint of a removed pod": {func(w *world) {
			w.slice.Endpoints = append(w.slice.Endpoints, w.slice.Endpoints[0])
			w.slice.Endpoints[1].TargetRef = &corev1.ObjectReference{UID: "gone"}
		}, "has 2 endpoints"},
		"a headless service":                      {func(w *world) { w.service.Spec.ClusterIPs = []string{corev1.ClusterIPNone} }, "IP address 10.0.0.1 is allocated to service r/service, which does not have it"},
		"a service with another IP":               {func(w *world) { w.service.Spec.ClusterIPs = []string{"10.0.0.2"} }, `service r/service has cluster IP 10.0.0.2, which is allocated to ""`},
		"an IP of a service in another namespace": {func(w *world) { w.address.Spec.ParentRef.Namespace = "b" }, `service r/service has cluster IP 10.0.0.1, which is allocated to "b/service"`},
		"an IP of a gateway": {func(w *world) {
			w.address.Spec.ParentRef.Resource, w.service.Spec.ClusterIPs = "gateways", nil
		}, ""},
		"a service outside of the cluster": {func(w *world) {
			w.service.Spec.Type, w.service.Spec.ClusterIPs, w.address.Spec.ParentRef.Resource, w.slice.Endpoints = corev1.ServiceTypeExternalName, nil, "gateways", nil
		}, ""},
		"a quota with a wrong usage": {func(w *world) { w.quota.Status.Used[corev1.ResourcePods] = resource.MustParse("2") }, "counts 2 pods, and there are 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("WATCHSIM_MUTANT", "")
			w := settled()
			row.change(w)
			err := w.settles(t)
			if row.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, row.wrong)
		})
	}
}

// Each promise has its own deadline.
func TestLate(t *testing.T) {
	require.NoError(t, controlplane.Late(nil, time.Hour, 0))
	w := settled()
	w.node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
	waits := w.settles(t)
	require.False(t, controlplane.Due(waits))
	require.NoError(t, controlplane.Late(waits, time.Hour, 0))
	w = settled()
	w.job.Status = batchv1.JobStatus{Failed: 1}
	require.NoError(t, controlplane.Late(w.settles(t), 6*time.Minute, 0), "a job whose pod has failed is in backoff")
	w.job.Status = batchv1.JobStatus{}
	require.ErrorContains(t, controlplane.Late(w.settles(t), 4*time.Minute, 0), "job r/job has not begun")
	w = settled()
	w.quota.Status.Used[corev1.ResourcePods] = resource.MustParse("2")
	counts := w.settles(t)
	require.True(t, controlplane.Due(counts))
	require.NoError(t, controlplane.Late(counts, 8*time.Minute, 0))
	require.ErrorContains(t, controlplane.Late(counts, 9*time.Minute, 0), "still wrong 8m0s after everything had healed: quota r/quota counts 2 pods")
	w.set.Spec.Replicas = new(int32(2)) // comes first, as its deadline is earlier
	wants := w.settles(t)
	require.NoError(t, controlplane.Late(wants, 3*time.Minute, 0))
	require.NoError(t, controlplane.Late(wants, 5*time.Minute, 2*time.Minute))
	require.ErrorContains(t, controlplane.Late(wants, 6*time.Minute, 2*time.Minute), "still wrong 5m0s after everything had healed")
	require.ErrorContains(t, controlplane.Late(wants, 4*time.Minute, 0), "still wrong 3m0s after everything had healed: replica set r/set wants 2")
}

func TestQuiet(t *testing.T) {
	w := settled()
	require.NoError(t, controlplane.Quiet(t.Context(), w.client(), w.untyped(), time.Millisecond))
	client := w.client()
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { // a write before each list
		w.pod.ResourceVersion += "1"
		return false, nil, client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("pods"), w.pod.DeepCopy(), "r")
	})
	require.ErrorContains(t, controlplane.Quiet(t.Context(), client, w.untyped(), time.Millisecond), "expected no writes within 1ms, found one to *v1.Pod r/pod")
}
