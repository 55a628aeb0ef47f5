package translate

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/watchsim/watchsim/cluster/target"
	"github.com/watchsim/watchsim/model"
)

// Handler returns the handler of an informer's notifications that translates them.
func Handler(handle target.Handle) cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { handle(model.Added, ObjectOf(object.(*corev1.Pod))) },
		UpdateFunc: func(_, object any) { handle(model.Modified, ObjectOf(object.(*corev1.Pod))) },
		DeleteFunc: func(object any) {
			// A deletion that the informer has missed comes with the last state it knows.
			if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = missed.Obj
			}
			handle(model.Deleted, ObjectOf(object.(*corev1.Pod)))
		},
	}
}
