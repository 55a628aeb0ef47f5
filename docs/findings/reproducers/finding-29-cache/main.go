// Finding 29, with a watch cache that lags: a pod that has been on a node for a second is removed at once by whoever deletes or evicts it with a grace period, as the
// API server's cache still has it, or an earlier pod of its name, in a state that needs none.
package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/policy"
	"k8s.io/kubernetes/pkg/registry/core/pod/storage"
	"k8s.io/utils/ptr"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

const (
	name = "web-0"
	lag  = time.Second
)

var ctx = store.Request("ns", "pods")

// variant is what the cache has when the pod runs, and how the pod is deleted.
type variant struct {
	name        string
	late        bool // the cache lacks what has happened since the pod, or the earlier one, was created
	earlier     bool // there was an earlier pod of the name, which has failed
	shows       bool
	remove      func(server storage.PodStorage, options *metav1.DeleteOptions) error
	withOptions func(running *core.Pod) metav1.DeleteOptions
}

func main() {
	etcd := rig.StartEtcd()
	none := func(*core.Pod) metav1.DeleteOptions { return metav1.DeleteOptions{} }
	uid := func(running *core.Pod) metav1.DeleteOptions {
		return metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(running.UID))}
	}
	version := func(running *core.Pod) metav1.DeleteOptions {
		return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &running.ResourceVersion}}
	}
	explicit := func(*core.Pod) metav1.DeleteOptions { return *metav1.NewDeleteOptions(store.Grace - 10) }
	rig.Variants("a running pod is removed at once, although nobody has forced its deletion,", []variant{
		{"the cache is current, deleted", false, false, false, remove, none},
		{"the cache is current and had an earlier pod, deleted", false, true, false, remove, none},
		{"the cache has the pod without its node, deleted", true, false, true, remove, none},
		{"the cache has the pod without its node, deleted with 20 s of grace", true, false, true, remove, explicit},
		{"the cache has the pod without its node, deleted with its UID", true, false, true, remove, uid},
		{"the cache has the pod without its node, deleted with its resourceVersion", true, false, false, remove, version},
		{"the cache has the pod without its node, deleted in a collection", true, false, true, removeAll, none},
		{"the cache has the pod without its node, evicted", true, false, true, evict, none},
		{"the cache has an earlier pod that failed, deleted", true, true, true, remove, none},
		{"the cache has an earlier pod that failed, deleted with the UID", true, true, false, remove, uid},
	}, func(v variant) (string, bool, bool) { return v.name, v.shows, v.run(etcd) })
}

// run deletes a pod that runs through an API server whose watch cache may lag, while another one did all that happened before. It reports whether the pod is gone.
func (v variant) run(etcd string) bool {
	var held sync.RWMutex // locked while the watch cache receives nothing
	options := store.Options{Etcd: etcd, Prefix: "/" + v.name}
	budgets := fake.NewClientset().PolicyV1()
	other := rig.Value(storage.NewStorage(options, nil, nil, budgets, nil))
	options.Reading = func(ctx context.Context) error {
		if _, requested := genericrequest.NamespaceFrom(ctx); !requested { // only requests, and not the cache's own watch, have a namespace
			held.RLock()
			defer held.RUnlock()
		}
		return nil
	}
	server := rig.Value(storage.NewStorage(options, nil, nil, budgets, nil))

	last := create(other)
	if v.earlier {
		last = begin(other, core.PodFailed)
	}
	observe(server, last)
	if v.late {
		held.Lock()
	}
	if v.earlier {
		store.Delete(ctx, other.Pod, name, &metav1.DeleteOptions{})
		create(other)
	}
	running := begin(other, core.PodRunning)
	time.Sleep(lag)
	deletion := v.withOptions(running)
	rig.Must(v.remove(server, &deletion))
	if v.late {
		held.Unlock()
	}
	found, err := other.Pod.Get(ctx, name, &metav1.GetOptions{})
	if !rig.Found(err) {
		fmt.Printf("%s: the pod is gone\n", v.name)
		return true
	}
	fmt.Printf("%s: the pod terminates, and has %d s for that\n", v.name, ptr.Deref(found.(*core.Pod).DeletionGracePeriodSeconds, -1))
	return false
}

func remove(server storage.PodStorage, options *metav1.DeleteOptions) error {
	_, _, err := server.Pod.Delete(ctx, name, rest.ValidateAllObjectFunc, options)
	return err
}

func removeAll(server storage.PodStorage, options *metav1.DeleteOptions) error {
	_, err := server.Pod.DeleteCollection(ctx, rest.ValidateAllObjectFunc, options, &internalversion.ListOptions{})
	return err
}

func evict(server storage.PodStorage, options *metav1.DeleteOptions) error {
	eviction := &policy.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, DeleteOptions: options}
	_, err := server.Eviction.Create(ctx, name, eviction, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	return err
}

// create creates a pod, as a StatefulSet does.
func create(server storage.PodStorage) *core.Pod {
	return rig.Value(server.Pod.Create(ctx, store.Pod(name, ""), rest.ValidateAllObjectFunc, &metav1.CreateOptions{})).(*core.Pod)
}

// begin binds the pod, as the scheduler does, and sets its phase, as the kubelet does.
func begin(server storage.PodStorage, phase core.PodPhase) *core.Pod {
	to := &core.Binding{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Target: core.ObjectReference{Kind: "Node", Name: "node"}}
	rig.Value(server.Binding.Create(ctx, name, to, rest.ValidateAllObjectFunc, &metav1.CreateOptions{}))
	return rig.Value(store.Change(ctx, server.Status, name, func(pod *core.Pod) { pod.Status.Phase = phase }))
}

// observe waits until a server's cache has a version of the pod.
func observe(server storage.PodStorage, version *core.Pod) {
	rig.Await(time.Millisecond, 10*time.Second, "the cache does not get the pod", func() bool {
		list, err := server.Pod.List(ctx, &internalversion.ListOptions{ResourceVersion: "0"})
		return err == nil && len(list.(*core.PodList).Items) == 1 && list.(*core.PodList).Items[0].ResourceVersion == version.ResourceVersion
	})
}
