package translate

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/watchsim/watchsim/model"
)

// scribble does to a delivered pod what a careless consumer inside the API
// server could do to it: it writes over its fields, through everything that the
// pod may share with the cache or with what other consumers got. The cacher
// delivers copies, so that this harms nobody. The resourceVersion is left
// alone: the handlers above the cache do set fields like it on what they got.
//
// What lists and gets return shares memory with the cache in Kubernetes, which
// says so; nobody scribbles there.
func scribble(pod *corev1.Pod, stream int) {
	mark := model.MutationMark(stream)
	for name := range pod.Labels {
		pod.Labels[name] = mark
	}
	pod.Spec.NodeName = mark
	pod.Status.Message = mark
}
