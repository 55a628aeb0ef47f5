package controlplane_test

import (
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/watchsim/watchsim/controlplane"
)

// world is a cluster that has converged, with one object of each kind.
type world struct {
	spaces     [2]corev1.Namespace
	node       corev1.Node
	deployment appsv1.Deployment
	set        appsv1.ReplicaSet
	stateful   appsv1.StatefulSet
	daemon     appsv1.DaemonSet
	job        batchv1.Job
	cron       batchv1.CronJob // suspended
	pod        corev1.Pod      // of the replica set
	service    corev1.Service
	slice      discoveryv1.EndpointSlice
	address    networkingv1.IPAddress // of the service
	quota      corev1.ResourceQuota
	budget     policyv1.PodDisruptionBudget
	claim      corev1.PersistentVolumeClaim // of nobody, bound to the volume
	volume     corev1.PersistentVolume
	secret     corev1.Secret // owned by the node, and by a deployment that is gone
	definition apiextensionsv1.CustomResourceDefinition
	custom     unstructured.Unstructured
	unserved   bool // custom objects cannot be listed
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "r", Name: name, UID: types.UID(name), Generation: 1}
}

// settled returns such a cluster.
func settled() *world {
	one, labels := new(int32(1)), map[string]string{"app": "a"}
	w := &world{
		spaces: [2]corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "r"}}, {ObjectMeta: metav1.ObjectMeta{Name: "b"}}},
		node: corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n"},
			Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourcePods: resource.MustParse("1")}}},
		deployment: appsv1.Deployment{ObjectMeta: meta("deployment"), Spec: appsv1.DeploymentSpec{Replicas: one},
			Status: appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}},
		set: appsv1.ReplicaSet{ObjectMeta: meta("set"), Spec: appsv1.ReplicaSetSpec{Replicas: one}, Status: appsv1.ReplicaSetStatus{Replicas: 1}},
		stateful: appsv1.StatefulSet{ObjectMeta: meta("stateful"), Spec: appsv1.StatefulSetSpec{Replicas: one},
			Status: appsv1.StatefulSetStatus{ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}},
		daemon: appsv1.DaemonSet{ObjectMeta: meta("daemon"),
			Status: appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 1, NumberAvailable: 1, UpdatedNumberScheduled: 1}},
		job:  batchv1.Job{ObjectMeta: meta("job"), Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}}},
		cron: batchv1.CronJob{ObjectMeta: meta("cron"), Spec: batchv1.CronJobSpec{Suspend: new(true), SuccessfulJobsHistoryLimit: new(int32(0)), FailedJobsHistoryLimit: new(int32(0))}},
		pod: corev1.Pod{ObjectMeta: meta("pod"), Spec: corev1.PodSpec{NodeName: "n"},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}},
		service: corev1.Service{ObjectMeta: meta("service"), Spec: corev1.ServiceSpec{Selector: labels, ClusterIPs: []string{"10.0.0.1"}}},
		address: networkingv1.IPAddress{ObjectMeta: metav1.ObjectMeta{Name: "10.0.0.1"}, Spec: networkingv1.IPAddressSpec{
			ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: "r", Name: "service"}}},
		slice: discoveryv1.EndpointSlice{ObjectMeta: meta("slice"),
			Endpoints: []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: new(true)}, TargetRef: &corev1.ObjectReference{UID: "pod"}}}},
		quota: corev1.ResourceQuota{ObjectMeta: meta("quota"), Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("5")}},
			Status: corev1.ResourceQuotaStatus{Used: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}}},
		budget: policyv1.PodDisruptionBudget{ObjectMeta: meta("budget"), Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
			Status: policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, CurrentHealthy: 1}},
		secret: corev1.Secret{ObjectMeta: meta("secret")},
		claim: corev1.PersistentVolumeClaim{ObjectMeta: meta("claim"), Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: new("now"), VolumeName: "volume"},
			Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}},
		volume: corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "volume", UID: "volume"},
			Spec:   corev1.PersistentVolumeSpec{StorageClassName: "now", PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete, ClaimRef: &corev1.ObjectReference{Namespace: "r", Name: "claim", UID: "claim"}},
			Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound}},
		definition: apiextensionsv1.CustomResourceDefinition{
			TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}, ObjectMeta: metav1.ObjectMeta{Name: "customs.example.com", UID: "customs"},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: "example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "customs", Kind: "Custom"},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}}},
		},
		custom: unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Custom", "metadata": map[string]any{"namespace": "r", "name": "custom", "uid": "custom", "creationTimestamp": "2026-01-01T00:00:01Z"}}},
	}
	w.pod.Labels = labels
	w.pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "set", UID: "set", Controller: new(true)}}
	w.secret.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n", UID: "n"}, {APIVersion: "apps/v1", Kind: "Deployment", Name: "deployment", UID: "gone"}}
	w.slice.Labels = map[string]string{discoveryv1.LabelServiceName: "service"}
	return w
}

// asking returns a container that requests so much CPU.
func asking(cpu string) []corev1.Container {
	return []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}}
}

func (w *world) client() *fake.Clientset {
	objects := []runtime.Object{&w.spaces[0], &w.spaces[1], &w.node, &w.deployment, &w.set, &w.stateful, &w.daemon, &w.job, &w.cron, &w.pod, &w.service, &w.address, &w.slice, &w.quota, &w.budget, &w.claim, &w.volume, &w.secret}
	return fake.NewClientset(objects...)
}

func (w *world) untyped() dynamic.Interface {
	definition, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&w.definition)
	if err != nil {
		panic(err)
	}
	lists := map[schema.GroupVersionResource]string{
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}: "CustomResourceDefinitionList", {Group: "example.com", Version: "v1", Resource: "customs"}: "CustomList",
	}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, &unstructured.Unstructured{Object: definition}, &w.custom)
	if w.unserved {
		client.PrependReactor("list", "customs", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("unserved") })
	}
	return client
}

// settles returns what has not converged.
func (w *world) settles(t *testing.T) error {
	return controlplane.Settled(t.Context(), w.client(), w.untyped())
}

// isOwnedBy makes an object named custom the secret's only owner.
func (w *world) isOwnedBy(kind, uid string) {
	w.secret.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: kind, Name: "custom", UID: types.UID(uid)}}
}

// runsCronJob makes a cron job the owner of the job, and lists jobs as active.
func (w *world) runsCronJob(active ...string) {
	w.job.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: "cron", UID: "cron", Controller: new(true)}}
	for _, name := range active {
		w.cron.Status.Active = append(w.cron.Status.Active, corev1.ObjectReference{Name: name})
	}
}

// schedules makes the cron job begin its last job some time ago.
func (w *world) schedules(ago time.Duration) {
	w.cron.Spec.Suspend, w.cron.Status.LastScheduleTime = nil, new(metav1.NewTime(time.Now().Add(-ago)))
}

// runs makes the pod one of a workload, of the deployment for the replica set, and gives it another image than all templates have.
func (w *world) runs(kind, name string) {
	w.pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, UID: types.UID(name), Controller: new(true)}}
	if kind == "ReplicaSet" {
		w.hangs("1") // which makes the deployment its owner
		w.deployment.Status.UpdatedReplicas = 1
	} else {
		w.set.Spec.Replicas, w.set.Status.Replicas = new(int32(0)), 0
	}
	template := corev1.PodSpec{Containers: []corev1.Container{{Image: "new"}}}
	w.deployment.Spec.Template.Spec, w.stateful.Spec.Template.Spec, w.daemon.Spec.Template.Spec = template, template, template
	w.pod.Spec.Containers = []corev1.Container{{Image: "old"}}
}

// scaled gives an unfinished job completed indexes, completions and parallelism.
func (w *world) scaled(indexes string, completions, parallelism int32) {
	w.job.Spec.Completions, w.job.Spec.Parallelism = &completions, &parallelism
	w.job.Status = batchv1.JobStatus{CompletedIndexes: indexes, Succeeded: 1}
}

// keepsFailed makes the pod a failed one that its unfinished job keeps until it has replaced it.
func (w *world) keepsFailed() {
	w.waits(metav1.Now())
	w.spaces[0].DeletionTimestamp, w.slice.Endpoints, w.budget.Status.CurrentHealthy = nil, nil, 0
	w.quota.Status.Used[corev1.ResourcePods] = resource.MustParse("0")
}

// fails makes the pod a failed one of a job that allows so many failures, and ignores some.
func (w *world) fails(limit int32) {
	w.keepsFailed()
	w.pod.DeletionTimestamp, w.pod.Finalizers = nil, nil
	w.job.Spec.BackoffLimitPerIndex, w.job.Spec.BackoffLimit, w.job.Spec.PodFailurePolicy = nil, &limit, &batchv1.PodFailurePolicy{}
	w.job.Status, w.set.Spec.Replicas, w.set.Status.Replicas = batchv1.JobStatus{Failed: 1}, new(int32(0)), 0
}

// waits makes the namespace wait for the failed pod of a job, which waits for the pod's replacement.
func (w *world) waits(since metav1.Time) {
	w.spaces[0].DeletionTimestamp, w.spaces[0].Finalizers = &since, []string{"f"}
	w.job.Status.Conditions, w.job.Spec.BackoffLimitPerIndex = nil, new(int32(1))
	w.pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "job", Controller: new(true)}}
	w.pod.DeletionTimestamp, w.pod.Finalizers, w.pod.Status.Phase = &since, []string{batchv1.JobTrackingFinalizer}, corev1.PodFailed
	w.pod.Labels = map[string]string{batchv1.ControllerUidLabel: "job"}
}

// overlaps makes a pod of an index succeed whose job has failed indexes.
func (w *world) overlaps(failed, index string) {
	w.waits(metav1.Now())
	w.spaces[0].DeletionTimestamp, w.job.Status.FailedIndexes = nil, &failed
	w.pod.Status.Phase, w.pod.Annotations = corev1.PodSucceeded, map[string]string{batchv1.JobCompletionIndexAnnotation: index}
}

// forgets makes a terminating pod keep the finalizer of a job, with the value of the label that the job's selector selects.
func (w *world) forgets(job types.UID, selected string) {
	w.waits(metav1.Now())
	w.spaces[0].DeletionTimestamp, w.pod.OwnerReferences[0].UID = nil, job
	w.pod.Labels = map[string]string{batchv1.ControllerUidLabel: selected}
}

// hangs makes the rollout hang, with a replica set whose annotation desired-replicas has this value.
func (w *world) hangs(desired string) {
	w.deployment.Status.UpdatedReplicas = 0
	w.set.Annotations = map[string]string{"deployment.kubernetes.io/desired-replicas": desired}
	w.set.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "deployment", UID: "deployment", Controller: new(true)}}
}
