// Finding 29: a pod that is bound to a node while it is being deleted is removed at once, without its grace period, and
// its containers run on.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/registry/core/pod/storage"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

const (
	rounds = 200
	name   = "web-0"
	grace  = 30 // seconds
	// webhook is how long admission webhooks take to validate the deletion of a pod.
	webhook = 5 * time.Millisecond
)

var ctx = genericrequest.WithRequestInfo(genericrequest.WithNamespace(context.Background(), "ns"), &genericrequest.RequestInfo{APIVersion: "v1", Resource: "pods"})

func main() {
	pods := rig.Value(storage.NewStorage(store.Options{Etcd: rig.StartEtcd()}, nil, nil, nil, nil))
	unseen, gone := 0, 0
	for range rounds {
		if isGone(pods, 0) {
			unseen++
		}
		if isGone(pods, webhook) {
			gone++
		}
	}
	fmt.Printf("without webhooks, a pod that was bound during its deletion was gone at once in %d of %d rounds\n", unseen, rounds)
	rig.Verdict(gone, rounds, fmt.Sprintf("a pod that was bound while webhooks validated its deletion was gone at once, despite its grace period of %d seconds,", grace))
}

// isGone deletes and binds a pod concurrently, and reports whether it was bound and is gone.
func isGone(pods storage.PodStorage, webhook time.Duration) bool {
	rig.Value(pods.Pod.Create(ctx, pod(), rest.ValidateAllObjectFunc, &metav1.CreateOptions{}))
	var deleted, bound error
	var both sync.WaitGroup
	both.Go(func() {
		validate := func(context.Context, runtime.Object) error {
			time.Sleep(webhook)
			return nil
		}
		_, _, deleted = pods.Pod.Delete(ctx, name, validate, &metav1.DeleteOptions{})
	})
	both.Go(func() {
		time.Sleep(rand.N(webhook + time.Millisecond))
		to := &core.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Target: core.ObjectReference{Kind: "Node", Name: "node"}}
		_, bound = pods.Binding.Create(ctx, name, to, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	})
	both.Wait()
	rig.Must(deleted)
	_, err := pods.Pod.Get(ctx, name, &metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return bound == nil
	}
	rig.Must(err)
	_, _, err = pods.Pod.Delete(ctx, name, rest.ValidateAllObjectFunc, metav1.NewDeleteOptions(0))
	rig.Must(err)
	return false
}

// pod returns a pod with the API server's defaults.
func pod() runtime.Object {
	seconds := int64(grace)
	sent := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "image"}}, TerminationGracePeriodSeconds: &seconds},
	}
	legacyscheme.Scheme.Default(sent)
	pod := &core.Pod{}
	rig.Must(legacyscheme.Scheme.Convert(sent, pod, nil))
	return pod
}
