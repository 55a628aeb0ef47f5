package controlplane

import (
	"context"
	"fmt"
	"math/rand/v2"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// priority is the priority class of pods that preempt others.
const priority = "high"

// label is a label that some nodes have and some daemon sets select.
const label = "disk"

// manifest draws one of the manifests for a kind of object, and returns the source of its contents. There are few, and
// users apply them repeatedly: controllers find the leftovers of objects with the same contents.
func (u *person) manifest() *rand.Rand {
	return rand.New(rand.NewPCG(u.usage.Contents, rand.Uint64N(uint64(u.usage.Manifests))))
}

// template draws a pod template. Names and labels are the same each time, so that orphans of one object
// can be adopted by another.
func (u *person) template(space, name string, manifest *rand.Rand) corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": space + "-" + name}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Image: fmt.Sprintf("image:%d", manifest.IntN(3)), Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(u.usage.MilliCPU, resource.DecimalSI)},
			}}},
			TerminationGracePeriodSeconds: new(manifest.Int64N(6)),
		},
	}
	if manifest.IntN(2) == 0 { // by default, pods tolerate an unreachable node for five minutes
		most := []int64{30, 120}[manifest.IntN(2)]
		for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
			t.Spec.Tolerations = append(t.Spec.Tolerations, corev1.Toleration{
				Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(manifest.Int64N(most)),
			})
		}
	}
	if manifest.IntN(4) == 0 {
		t.Spec.PriorityClassName = priority
	}
	return t
}

func replicas() *int32 { return new(rand.Int32N(maxReplicas + 1)) }

func (u *person) applyDeployment(ctx context.Context, space, name string) error {
	template := u.template(space, name, u.manifest())
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: replicas(), Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
			RevisionHistoryLimit: new(rand.Int32N(3)), MinReadySeconds: rand.Int32N(3), Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
		},
	}
	if rand.IntN(4) > 0 {
		surge, unavailable := intstr.FromInt32(1+rand.Int32N(2)), intstr.FromInt32(rand.Int32N(2))
		d.Spec.Strategy = appsv1.DeploymentStrategy{
			Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &unavailable},
		}
	}
	return ensure(ctx, u.client.AppsV1().Deployments(space), name, d, func(old *appsv1.Deployment) { old.Spec = d.Spec })
}

func (u *person) deleteDeployment(ctx context.Context, space, name string) error {
	return u.client.AppsV1().Deployments(space).Delete(ctx, name, deletion())
}

// applyReplicaSet creates or scales a replica set whose pods no deployment selects.
func (u *person) applyReplicaSet(ctx context.Context, space, name string) error {
	template, wanted := u.template(space, name, u.manifest()), replicas()
	template.Labels = map[string]string{"app": space + "-" + name + "-set"}
	return ensure(ctx, u.client.AppsV1().ReplicaSets(space), name, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.ReplicaSetSpec{Replicas: wanted, Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template},
	}, func(s *appsv1.ReplicaSet) { s.Spec.Replicas = wanted })
}

func (u *person) deleteReplicaSet(ctx context.Context, space, name string) error {
	return u.client.AppsV1().ReplicaSets(space).Delete(ctx, name, deletion())
}

func (u *person) applyStatefulSet(ctx context.Context, space, name string) error {
	manifest := u.manifest()
	template := u.template(space, name, manifest)
	// With a grace period of 0, pods are removed before their containers have ended.
	template.Spec.TerminationGracePeriodSeconds = new(1 + manifest.Int64N(5))
	policy := []appsv1.PodManagementPolicyType{appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement}[rand.IntN(2)]
	wanted := replicas()
	return ensure(ctx, u.client.AppsV1().StatefulSets(space), name, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.StatefulSetSpec{
			Replicas: wanted, Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
			ServiceName: name, PodManagementPolicy: policy, RevisionHistoryLimit: new(rand.Int32N(3)),
		},
	}, func(s *appsv1.StatefulSet) { s.Spec.Replicas, s.Spec.Template.Spec = wanted, template.Spec })
}

func (u *person) deleteStatefulSet(ctx context.Context, space, name string) error {
	return u.client.AppsV1().StatefulSets(space).Delete(ctx, name, deletion())
}

func (u *person) applyDaemonSet(ctx context.Context, space, name string) error {
	manifest := u.manifest()
	template := u.template(space, name, manifest)
	if manifest.IntN(2) == 0 {
		template.Spec.NodeSelector = map[string]string{label: "fast"}
	}
	return ensure(ctx, u.client.AppsV1().DaemonSets(space), name, &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template},
	}, func(d *appsv1.DaemonSet) { d.Spec.Template.Spec = template.Spec })
}

func (u *person) deleteDaemonSet(ctx context.Context, space, name string) error {
	return u.client.AppsV1().DaemonSets(space).Delete(ctx, name, deletion())
}

func (u *person) createJob(ctx context.Context, space, name string) error {
	template := u.template(space, name, u.manifest())
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	_, err := u.client.BatchV1().Jobs(space).Create(ctx, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{
			Completions: new(1 + rand.Int32N(maxReplicas)), Parallelism: new(1 + rand.Int32N(2)), BackoffLimit: new(rand.Int32N(4)),
			CompletionMode: new([]batchv1.CompletionMode{batchv1.NonIndexedCompletion, batchv1.IndexedCompletion}[rand.IntN(2)]),
			Template:       template, TTLSecondsAfterFinished: timeToLive(),
		},
	}, metav1.CreateOptions{})
	return err
}

// timeToLive draws how long a finished job is kept; nil means for ever.
func timeToLive() *int32 { return []*int32{nil, new(rand.Int32N(10))}[rand.IntN(2)] }

func (u *person) changeJob(ctx context.Context, space, name string) error {
	if rand.IntN(2) == 0 {
		suspend := rand.IntN(2) == 0
		return update(ctx, u.client.BatchV1().Jobs(space), name, func(j *batchv1.Job) { j.Spec.Suspend = &suspend })
	}
	live := timeToLive()
	return update(ctx, u.client.BatchV1().Jobs(space), name, func(j *batchv1.Job) { j.Spec.TTLSecondsAfterFinished = live })
}

func (u *person) deleteJob(ctx context.Context, space, name string) error {
	return u.client.BatchV1().Jobs(space).Delete(ctx, name, deletion())
}

func (u *person) createPod(ctx context.Context, space, name string) error {
	template := u.template(space, name, u.manifest())
	template.Spec.RestartPolicy = []corev1.RestartPolicy{corev1.RestartPolicyNever, corev1.RestartPolicyAlways}[rand.IntN(2)]
	template.ObjectMeta.Name = name
	_, err := u.client.CoreV1().Pods(space).Create(ctx, &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}, metav1.CreateOptions{})
	return err
}

func (u *person) deletePod(ctx context.Context, space, _ string) error {
	pod, err := u.some(ctx, pods, space)
	if err != nil {
		return err
	}
	return u.client.CoreV1().Pods(space).Delete(ctx, pod.GetName(), metav1.DeleteOptions{})
}
