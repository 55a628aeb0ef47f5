package controlplane

import (
	"context"
	"math/rand/v2"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// clusterIPs are the addresses from which API servers choose those of services.
var clusterIPs = netip.MustParsePrefix("10.0.0.0/28")

// createService creates a service that is headless, or has an address that an API server or the user chooses, and maybe a port on all nodes.
func (u *person) createService(ctx context.Context, space, name string) error {
	spec := corev1.ServiceSpec{Selector: map[string]string{"app": space + "-" + name}, Ports: []corev1.ServicePort{{Port: 80}}}
	switch rand.IntN(4) {
	case 0:
		spec.ClusterIP = corev1.ClusterIPNone
	case 1:
		address := clusterIPs.Addr()
		for range 1 + rand.IntN(1<<(address.BitLen()-clusterIPs.Bits())-2) {
			address = address.Next()
		}
		spec.ClusterIP = address.String()
	case 2:
		spec.Type = corev1.ServiceTypeNodePort
	}
	_, err := u.client.CoreV1().Services(space).Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	return err
}

// changeService changes the type of a service, which then gets or loses its address or its port.
func (u *person) changeService(ctx context.Context, space, name string) error {
	kind := []corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeExternalName}[rand.IntN(3)]
	return update(ctx, u.client.CoreV1().Services(space), name, func(s *corev1.Service) {
		if s.Spec.Type, s.Spec.ExternalName = kind, ""; kind == corev1.ServiceTypeExternalName {
			s.Spec.ExternalName, s.Spec.InternalTrafficPolicy = "example.com", nil // with a policy, watches return another object than lists
		}
	})
}

func (u *person) deleteService(ctx context.Context, space, name string) error {
	return u.client.CoreV1().Services(space).Delete(ctx, name, metav1.DeleteOptions{})
}

// quota is the name of the quota of a namespace.
const quota = "pods"

func (u *person) applyQuota(ctx context.Context, space, _ string) error {
	hard := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(u.usage.MaxPods, resource.DecimalSI)}
	return ensure(ctx, u.client.CoreV1().ResourceQuotas(space), quota,
		&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: quota}, Spec: corev1.ResourceQuotaSpec{Hard: hard}},
		func(q *corev1.ResourceQuota) { q.Spec.Hard = hard })
}

func (u *person) deleteQuota(ctx context.Context, space, _ string) error {
	return u.client.CoreV1().ResourceQuotas(space).Delete(ctx, quota, metav1.DeleteOptions{})
}

func (u *person) createBudget(ctx context.Context, space, name string) error {
	least := intstr.FromInt32(rand.Int32N(3))
	_, err := u.client.PolicyV1().PodDisruptionBudgets(space).Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": space + "-" + name}}},
	}, metav1.CreateOptions{})
	return err
}

func (u *person) deleteBudget(ctx context.Context, space, name string) error {
	return u.client.PolicyV1().PodDisruptionBudgets(space).Delete(ctx, name, metav1.DeleteOptions{})
}

func (u *person) evict(ctx context.Context, space, _ string) error {
	pod, err := u.some(ctx, pods, space)
	if err != nil {
		return err
	}
	return u.client.PolicyV1().Evictions(space).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.GetName(), Namespace: space}})
}

func (u *person) createNamespace(ctx context.Context, space, _ string) error {
	_, err := u.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}}, metav1.CreateOptions{})
	return err
}

func (u *person) deleteNamespace(ctx context.Context, space, _ string) error {
	return u.client.CoreV1().Namespaces().Delete(ctx, space, metav1.DeleteOptions{})
}
