package controlplane

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchsim/watchsim/model"
	"github.com/watchsim/watchsim/traces/importer"
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

// tracksGone reports whether an object is a service of which an endpoint slice was deleted while its controller, in the given life of a manager, wrote it: the answer may have come
// after the deletion, and then the controller waits for that slice for ever (kubernetes/kubernetes #141592).
func (s *store) tracksGone(of metav1.Object, life string) bool {
	if _, is := of.(*corev1.Service); !is {
		return false
	}
	requests := s.seen.Requests[slicesName]
	for _, write := range requests {
		if write.Kind != model.Update || write.Client != life || write.Err != model.OK || write.Scope.Namespace != of.GetNamespace() || !strings.HasPrefix(write.Scope.Name, of.GetName()+"-") {
			continue
		}
		if slices.ContainsFunc(requests, func(d *importer.Told) bool {
			return d.Kind == model.Delete && d.Scope == write.Scope && d.Call <= write.Return && d.Return >= write.Call
		}) {
			return true
		}
	}
	return false
}

// slicesName is the name of their resource.
const slicesName = "endpointslices.discovery.k8s.io"
