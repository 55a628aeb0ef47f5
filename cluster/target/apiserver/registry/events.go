package registry

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/watchsim/watchsim/model"
)

// InitialEventsEnd is the annotation of the bookmark after the last initial event.
const InitialEventsEnd = "k8s.io/initial-events-end"

// EventOf converts an event of the API. If mutator is not 0, it then mutates the
// original on behalf of that stream.
func EventOf(event watch.Event, mutator int) model.Event {
	converted := model.Event{Type: model.EventType(event.Type)}
	if event.Type == watch.Error {
		err := apierrors.FromObject(event.Object)
		converted.Err, converted.Message, converted.Answer = CodeOf(err), err.Error(), AnswerOf(err)
		return converted
	}
	pod, err := podIn(event.Object)
	if err != nil {
		converted.Type, converted.Err, converted.Message = model.Error, model.Unknown, err.Error()
		converted.Answer = model.InternalError
		return converted
	}
	converted.RV = ParseRV(pod.ResourceVersion)
	if event.Type == watch.Bookmark {
		converted.InitialEnd = pod.Annotations[InitialEventsEnd] == "true"
		return converted
	}
	converted.Object = new(ObjectOf(pod))
	if mutator != 0 {
		mutate(pod, mutator)
	}
	return converted
}

// podIn returns the pod of an event. The cacher wraps pods that it sends to several
// watches; unwrapping returns a copy.
func podIn(object runtime.Object) (*corev1.Pod, error) {
	if shared, ok := object.(runtime.CacheableObject); ok {
		object = shared.GetObject()
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("expected a pod in the event, found %T", object)
	}
	return pod, nil
}

// APIEventOf is the inverse of EventOf.
func APIEventOf(event model.Event) watch.Event {
	converted := watch.Event{Type: watch.EventType(event.Type)}
	switch event.Type {
	case model.Error:
		converted.Object = StatusOf(ErrorOf(event.Err, event.Message))
	case model.Bookmark:
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: FormatRV(event.RV)}}
		if event.InitialEnd {
			pod.Annotations = map[string]string{InitialEventsEnd: "true"}
		}
		converted.Object = pod
	default:
		converted.Object = StoredPodOf(event.Object)
	}
	return converted
}
