// Finding 29: a pod that is bound to a node while it is being deleted is removed at once, without its grace period, and
// its containers run on.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/registry/core/pod/storage"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

const (
	rounds = 200
	name   = "web-0"
	// webhook is how long admission webhooks take to validate the deletion of a pod.
	webhook = 5 * time.Millisecond
)

var ctx = store.Request("ns", "pods")

func main() {
	pods := rig.Value(storage.NewStorage(store.Options{Etcd: rig.StartEtcd()}, nil, nil, nil, nil))
	unseen := rig.Count(rounds, func(int) bool { return isGone(pods, 0) })
	gone := rig.Count(rounds, func(int) bool { return isGone(pods, webhook) })
	fmt.Printf("without webhooks, a pod that was bound during its deletion was gone at once in %d of %d rounds\n", unseen, rounds)
	rig.Verdict(gone, rounds, fmt.Sprintf("a pod that was bound while webhooks validated its deletion was gone at once, despite its grace period of %d seconds,", store.Grace))
}

// isGone deletes and binds a pod concurrently, and reports whether it was bound and is gone.
func isGone(pods storage.PodStorage, webhook time.Duration) bool {
	rig.Value(pods.Pod.Create(ctx, store.Pod(name, ""), rest.ValidateAllObjectFunc, &metav1.CreateOptions{}))
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
	if store.Gone(ctx, pods.Pod, name) {
		return bound == nil
	}
	store.Delete(ctx, pods.Pod, name, metav1.NewDeleteOptions(0))
	return false
}
