package controlplane

import (
	"context"
	"fmt"
	"math/rand/v2"

	appsv1 "k8s.io/api/apps/v1"
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
	if manifest.IntN(2) == 0 { // by default, pods tolerate no taint of administrators, and an unreachable node for five minutes
		t.Spec.Tolerations = []corev1.Toleration{{
			Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(manifest.Int64N([]int64{30, 120}[manifest.IntN(2)])),
		}}
	}
	if manifest.IntN(4) == 0 {
		t.Spec.PriorityClassName = priority
	}
	u.addScratch(&t.Spec, manifest)
	return t
}

func replicas() *int32 { return new(rand.Int32N(maxReplicas + 1)) }

// amount draws a number of pods, or a percentage of maxReplicas that is about the same.
func amount(least, most int32) intstr.IntOrString {
	n := least + rand.Int32N(most-least+1)
	if rand.IntN(3) == 0 {
		return intstr.FromString(fmt.Sprintf("%d%%", n*100/maxReplicas))
	}
	return intstr.FromInt32(n)
}

func (u *person) applyDeployment(ctx context.Context, space, name string) error {
	manifest := u.manifest()
	template := u.template(space, name, manifest)
	u.restrain(&template, manifest)
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: replicas(), Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
			RevisionHistoryLimit: new(rand.Int32N(3)), MinReadySeconds: rand.Int32N(3), Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Paused: rand.IntN(6) == 0, ProgressDeadlineSeconds: []*int32{nil, new(int32(5))}[rand.IntN(2)],
		},
	}
	if rand.IntN(4) > 0 {
		surge, unavailable := amount(1, 2), amount(0, 1)
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
	manifest := u.manifest()
	template, wanted := u.template(space, name, manifest), replicas()
	template.Labels = map[string]string{"app": space + "-" + name + "-set"}
	u.restrain(&template, manifest)
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
	spec := appsv1.StatefulSetSpec{
		Replicas: replicas(), Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
		ServiceName: name, PodManagementPolicy: policy, RevisionHistoryLimit: new(rand.Int32N(3)), MinReadySeconds: rand.Int32N(3),
	}
	u.addClaims(&spec, manifest)
	u.restrain(&spec.Template, manifest)
	switch rand.IntN(4) {
	case 0:
		spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
	case 1:
		unavailable := amount(1, 2)
		spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{
			Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(rand.Int32N(3)), MaxUnavailable: &unavailable},
		}
	}
	if rand.IntN(4) == 0 {
		spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: rand.Int32N(3)}
	}
	return ensure(ctx, u.client.AppsV1().StatefulSets(space), name, &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, func(s *appsv1.StatefulSet) {
		spec.PodManagementPolicy, spec.VolumeClaimTemplates = s.Spec.PodManagementPolicy, s.Spec.VolumeClaimTemplates // cannot be changed
		s.Spec = spec
	})
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
	spec := appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template, RevisionHistoryLimit: new(rand.Int32N(3)), MinReadySeconds: rand.Int32N(3),
	}
	switch none, some := intstr.FromInt32(0), amount(1, 2); rand.IntN(4) {
	case 0:
		spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
	case 1:
		spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &some, MaxSurge: &none}
	case 2:
		spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &none, MaxSurge: &some}
	}
	return ensure(ctx, u.client.AppsV1().DaemonSets(space), name, &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, func(d *appsv1.DaemonSet) { d.Spec = spec })
}

func (u *person) deleteDaemonSet(ctx context.Context, space, name string) error {
	return u.client.AppsV1().DaemonSets(space).Delete(ctx, name, deletion())
}

func (u *person) createPod(ctx context.Context, space, name string) error {
	manifest := u.manifest()
	template := u.template(space, name, manifest)
	u.restrain(&template, manifest)
	template.Spec.RestartPolicy = []corev1.RestartPolicy{corev1.RestartPolicyNever, corev1.RestartPolicyAlways}[rand.IntN(2)]
	template.ObjectMeta.Name = name
	u.addClaim(&template.Spec)
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
