package translate

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/watchsim/watchsim/model"
)

// mutate does to a delivered pod what a careless consumer inside the API server could
// do: it overwrites its fields, including everything that the pod may share with the
// cache or other consumers. The cacher delivers copies, so this is harmless. mutate
// keeps the resourceVersion, because the handlers above the cache do set such fields on
// their pods.
//
// In Kubernetes, objects returned by lists and gets share memory with the cache, which
// is documented; nobody mutates them.
func mutate(pod *corev1.Pod, stream int) {
	mark := model.MutationMark(stream)
	for name := range pod.Labels {
		pod.Labels[name] = mark
	}
	pod.Spec.NodeName = mark
	pod.Status.Message = mark
}
