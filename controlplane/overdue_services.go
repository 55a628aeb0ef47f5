package controlplane

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// keepsSlice reports whether an object is a service with an endpoint slice that is being deleted and stays (finding 65).
func (s *store) keepsSlice(of metav1.Object) bool {
	if _, is := of.(*corev1.Service); !is {
		return false
	}
	for _, o := range s.objects {
		slice, is := o.(*discoveryv1.EndpointSlice)
		if is && slice.DeletionTimestamp != nil && slice.Namespace == of.GetNamespace() && slice.Labels[discoveryv1.LabelServiceName] == of.GetName() {
			return true
		}
	}
	return false
}
