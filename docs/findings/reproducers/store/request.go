package store

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// Request returns the context of a request for a resource of the core group in a namespace.
func Request(space, resource string) context.Context {
	return genericrequest.WithRequestInfo(genericrequest.WithNamespace(context.Background(), space), &genericrequest.RequestInfo{APIVersion: "v1", Resource: resource})
}

// Internal sets the API server's defaults in an object, and converts it to what storage takes.
func Internal[O runtime.Object](external runtime.Object, internal O) O {
	legacyscheme.Scheme.Default(external)
	rig.Must(legacyscheme.Scheme.Convert(external, internal, nil))
	return internal
}

// Grace is how many seconds the containers of a Pod may take to end.
const Grace = 30

// Pod returns a pod in namespace "ns", on a node unless that is "".
func Pod(name, node string, finalizers ...string) *core.Pod {
	return Internal(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Finalizers: finalizers},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "image"}}, TerminationGracePeriodSeconds: new(int64(Grace))},
	}, &core.Pod{})
}

// Change changes an object as a PATCH request does, without a resourceVersion or UID.
func Change[O runtime.Object](ctx context.Context, objects rest.Updater, name string, change func(O)) (changed O, err error) {
	info := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, existing runtime.Object) (runtime.Object, error) {
		object := existing.DeepCopyObject().(O)
		change(object)
		return object, nil
	})
	updated, _, err := objects.Update(ctx, name, info, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	if err == nil {
		changed = updated.(O)
	}
	return changed, err
}

// Delete sends a DELETE that has to succeed.
func Delete(ctx context.Context, objects rest.GracefulDeleter, name string, options *metav1.DeleteOptions) {
	_, _, err := objects.Delete(ctx, name, rest.ValidateAllObjectFunc, options)
	rig.Must(err)
}

// Gone reports whether there is no object of a name.
func Gone(ctx context.Context, objects rest.Getter, name string) bool {
	_, err := objects.Get(ctx, name, &metav1.GetOptions{})
	return !rig.Found(err)
}
