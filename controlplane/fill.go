package controlplane

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Fill creates a pod for each node that requests all of its free CPU: if a scheduler wrongly reserves room, it cannot place that pod.
func Fill(ctx context.Context, client kubernetes.Interface) error {
	s, err := read(ctx, client)
	if err != nil {
		return err
	}
	var errs []error
	for i := range s.nodes {
		node := &s.nodes[i]
		if left := s.left(node); left > 0 {
			errs = append(errs, ask(ctx, client, "fills-"+node.Name, left, map[string]string{corev1.LabelHostname: node.Name}))
		}
	}
	return errors.Join(errs...)
}

// Overfill creates a pod that fits on no node after [Fill]: a scheduler that wrongly takes room for free binds it, as one does that has begun before it knows
// all pods. Lists have this one before those of Fill.
func Overfill(ctx context.Context, client kubernetes.Interface) error {
	return ask(ctx, client, "a-overfills", 1, nil)
}

// left returns the CPU of a node that no pod requests, in millicores.
func (s *state) left(node *corev1.Node) int64 {
	left := node.Status.Allocatable.Cpu().MilliValue()
	for i := range s.pods {
		if pod := &s.pods[i]; pod.Spec.NodeName == node.Name && !isOver(pod) {
			left -= request(pod)
		}
	}
	return left
}

// ask creates a pod that requests some CPU in a namespace without quotas.
func ask(ctx context.Context, client kubernetes.Interface, name string, milliCPU int64, selector map[string]string) error {
	_, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{NodeSelector: selector, Containers: []corev1.Container{{Name: "c", Image: "image", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(milliCPU, resource.DecimalSI)},
		}}}},
	}, metav1.CreateOptions{})
	return err
}
