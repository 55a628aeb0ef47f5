package controlplane

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
)

// maxReplicas is the most that a user asks for, so that all of it fits on a node.
const maxReplicas = 4

// User returns a program for simtest that does what users do until a deadline: it creates, scales,
// changes, deletes and creates again what controllers bring about, in two namespaces.
func User(until time.Time) func(ctx context.Context, config *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		u := &person{client: client}
		for ctx.Err() == nil && time.Now().Before(until) {
			bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
			_ = u.act(bounded) // refused, late or lost: users try something else
			cancel()
			time.Sleep(upTo(4 * time.Second))
		}
		<-ctx.Done()
		return nil
	}
}

type person struct{ client kubernetes.Interface }

// spaces are the namespaces in which users work.
var spaces = []string{"red", "blue"}

// act does one thing, of those that users do.
func (u *person) act(ctx context.Context) error {
	space, name := spaces[rand.IntN(len(spaces))], string(rune('a'+rand.IntN(3)))
	replicas := rand.Int32N(maxReplicas + 1)
	apps := u.client.AppsV1()
	deletion := metav1.DeleteOptions{PropagationPolicy: []*metav1.DeletionPropagation{
		nil, ptr.To(metav1.DeletePropagationForeground), ptr.To(metav1.DeletePropagationBackground),
	}[rand.IntN(3)]}
	template := template(space+"-"+name, fmt.Sprintf("image:%d", rand.IntN(3)))
	switch rand.IntN(12) {
	case 0, 1:
		return ensure(ctx, apps.Deployments(space), name, &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template},
		}, func(d *appsv1.Deployment) { d.Spec.Replicas, d.Spec.Template.Spec = &replicas, template.Spec })
	case 2:
		return apps.Deployments(space).Delete(ctx, name, deletion)
	case 3:
		// Without a grace period, nobody waits until the containers have ended.
		template.Spec.TerminationGracePeriodSeconds = ptr.To(1 + rand.Int64N(5))
		return ensure(ctx, apps.StatefulSets(space), name, &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       appsv1.StatefulSetSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template, ServiceName: name},
		}, func(s *appsv1.StatefulSet) { s.Spec.Replicas, s.Spec.Template.Spec = &replicas, template.Spec })
	case 4:
		return apps.StatefulSets(space).Delete(ctx, name, deletion)
	case 5:
		return ensure(ctx, apps.DaemonSets(space), name, &appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template},
		}, func(d *appsv1.DaemonSet) { d.Spec.Template.Spec = template.Spec })
	case 6:
		return apps.DaemonSets(space).Delete(ctx, name, deletion)
	case 7:
		template.Spec.RestartPolicy = corev1.RestartPolicyNever
		_, err := u.client.BatchV1().Jobs(space).Create(ctx, &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: batchv1.JobSpec{
				Completions: ptr.To(1 + rand.Int32N(4)), Parallelism: ptr.To(1 + rand.Int32N(2)), BackoffLimit: ptr.To(rand.Int32N(4)), Template: template,
				TTLSecondsAfterFinished: []*int32{nil, ptr.To(rand.Int32N(10))}[rand.IntN(2)],
			},
		}, metav1.CreateOptions{})
		return err
	case 8:
		return u.client.BatchV1().Jobs(space).Delete(ctx, name, deletion)
	case 9:
		_, err := u.client.CoreV1().Services(space).Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": space + "-" + name}, ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{})
		return err
	case 10:
		pods, err := u.client.CoreV1().Pods(space).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil || len(pods.Items) == 0 {
			return err
		}
		return u.client.CoreV1().Pods(space).Delete(ctx, pods.Items[rand.IntN(len(pods.Items))].Name, metav1.DeleteOptions{})
	default:
		return ensure(ctx, u.client.CoreV1().ResourceQuotas(space), "pods", &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Name: "pods"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(maxPods, resource.DecimalSI)}},
		}, func(*corev1.ResourceQuota) {})
	}
}

// maxPods is what a quota allows, more than users ask for.
const maxPods = 60

// template is that of pods which a node of [Kubelet] has room for.
func template(app, image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Image: image, Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
			}}},
			TerminationGracePeriodSeconds: ptr.To(rand.Int64N(6)),
		},
	}
}

// objects are what a client reads and writes objects of a type with.
type objects[T any] interface {
	Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error)
	Get(ctx context.Context, name string, options metav1.GetOptions) (T, error)
	Update(ctx context.Context, object T, options metav1.UpdateOptions) (T, error)
}

// ensure creates an object, or changes the one that there is.
func ensure[T any](ctx context.Context, client objects[T], name string, object T, change func(T)) error {
	_, err := client.Create(ctx, object, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		found, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(found)
		_, err = client.Update(ctx, found, metav1.UpdateOptions{})
		return err
	})
}
