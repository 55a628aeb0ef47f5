// Finding 70: a DELETE removes another object than the one that it has read and marked: one that was created under its name
// meanwhile, despite its finalizers and without its grace period.
package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/apis/core"
	configmaps "k8s.io/kubernetes/pkg/registry/core/configmap/storage"
	pods "k8s.io/kubernetes/pkg/registry/core/pod/storage"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

const (
	rounds    = 100
	finalizer = "example.com/last"
	// webhook is how long admission webhooks take to validate the deletion of an object.
	webhook = 5 * time.Millisecond
)

// ctx has what storage asks of a request of either resource.
var ctx = store.Request("ns", "")

type storage struct {
	pods    pods.PodStorage
	configs *registry.Store
}

// variant is an object that two clients delete, and what happens meanwhile. The object is a pod on no node unless the fields say otherwise.
type variant struct {
	name   string
	config bool // it is a ConfigMap
	// succeeded is set if the pod is on a node and has succeeded. Its kubelet takes the place of the second client: if the pod is marked, an update of its status removes it.
	succeeded          bool
	recreated, updated bool // another object is created as soon as the name is free, or the object gets a finalizer
	uid                bool // the DELETEs have the object's UID as a precondition
	webhook            time.Duration
}

var variants = []variant{
	{name: "pod-recreated", recreated: true},
	{name: "pod-recreated-webhook", recreated: true, webhook: webhook},
	{name: "pod-recreated-webhook-uid", recreated: true, webhook: webhook, uid: true},
	{name: "pod-webhook", webhook: webhook},
	{name: "succeeded-recreated-webhook", succeeded: true, recreated: true, webhook: webhook},
	{name: "succeeded-recreated-webhook-uid", succeeded: true, recreated: true, webhook: webhook, uid: true},
	{name: "config-recreated-webhook", config: true, recreated: true, webhook: webhook},
	{name: "config-recreated-webhook-uid", config: true, recreated: true, webhook: webhook, uid: true},
}

func main() {
	options := store.Options{Etcd: rig.StartEtcd()}
	s := storage{rig.Value(pods.NewStorage(options, nil, nil, nil, nil)), rig.Value(configmaps.NewREST(options)).Store}
	run(s, variant{name: "config-updated-webhook", config: true, updated: true, webhook: webhook}) // kubernetes #77988, which is no part of the verdict
	rig.Variants("a DELETE removes an object that was created meanwhile, despite its finalizer,", variants, func(v variant) (string, bool, bool) {
		return v.name, v.recreated && !v.uid, run(s, v) > 0
	})
}

// run counts the rounds in which an object is gone that has a finalizer.
func run(s storage, v variant) (seen int) {
	example := ""
	for range rounds {
		if found := s.round(v); found != "" {
			seen, example = seen+1, ", such as "+found
		}
	}
	fmt.Printf("%s: an object with a finalizer was removed in %d of %d rounds%s\n", v.name, seen, rounds, example)
	return seen
}

// round has an object deleted, and describes one with a finalizer that is gone afterwards, if any.
func (s storage) round(v variant) (found string) {
	objects := s.pods.Pod.Store
	if v.config {
		objects = s.configs
	}
	first := of(rig.Value(objects.Create(ctx, v.object(), rest.ValidateAllObjectFunc, &metav1.CreateOptions{})))
	if v.succeeded {
		rig.Must(s.setStatus(v))
	}
	var all sync.WaitGroup
	var removed [2]types.UID
	all.Go(func() { removed[0] = remove(v, objects, first.GetUID()) })
	all.Go(func() {
		if !v.succeeded {
			removed[1] = remove(v, objects, first.GetUID())
		}
		for v.succeeded && s.setStatus(v) == nil { // until the pod is gone
		}
	})
	last := first
	if v.recreated {
		last = recreate(v, objects)
	} else if v.updated {
		if o, err := finalize(v, objects, finalizer); err == nil {
			last = of(o)
		}
	}
	all.Wait()
	if !store.Gone(ctx, objects, v.name) {
		store.Delete(ctx, objects, v.name, metav1.NewDeleteOptions(0))
		rig.Value(finalize(v, objects))
		return ""
	}
	if len(last.GetFinalizers()) > 0 && slices.Contains(removed[:], last.GetUID()) {
		found = fmt.Sprintf("UID %s in place of %s", last.GetUID(), first.GetUID())
		if pod, ok := last.(*core.Pod); ok {
			found += fmt.Sprintf("; it was on node %q and had a grace period of %d s", pod.Spec.NodeName, *pod.Spec.TerminationGracePeriodSeconds)
		}
	}
	return found
}

// remove sends a DELETE, and returns the UID of the object that this has removed, if any.
func remove(v variant, objects *registry.Store, uid types.UID) types.UID {
	options := &metav1.DeleteOptions{}
	if v.uid {
		options.Preconditions = metav1.NewUIDPreconditions(string(uid))
	}
	validate := func(context.Context, runtime.Object) error {
		time.Sleep(v.webhook)
		return nil
	}
	o, gone, err := objects.Delete(ctx, v.name, validate, options)
	if apierrors.IsNotFound(err) || v.uid && apierrors.IsConflict(err) {
		return ""
	}
	rig.Must(err)
	if status, ok := o.(*metav1.Status); ok { // what the DELETE of a ConfigMap returns
		return status.Details.UID
	}
	if !gone {
		return "" // it waits for its finalizer
	}
	return of(o).GetUID()
}

// setStatus updates a pod's status as its kubelet does. It fails if the pod is gone, or if another one has its name.
func (s storage) setStatus(v variant) error {
	info := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, existing runtime.Object) (runtime.Object, error) {
		pod := existing.DeepCopyObject().(*core.Pod)
		if len(pod.Finalizers) > 0 {
			return nil, apierrors.NewConflict(core.Resource("pods"), v.name, fmt.Errorf("it is another pod"))
		}
		pod.Status.Phase = core.PodSucceeded
		return pod, nil
	})
	_, _, err := s.pods.Status.Update(ctx, v.name, info, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	return err
}

// recreate creates an object with a finalizer as soon as there is none of its name.
func recreate(v variant, objects *registry.Store) metav1.Object {
	for {
		o, err := objects.Create(ctx, v.object(finalizer), rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
		if err == nil {
			return of(o)
		}
		if !apierrors.IsAlreadyExists(err) {
			rig.Must(err)
		}
	}
}

// finalize sets the finalizers of an object as a PATCH does.
func finalize(v variant, objects *registry.Store, finalizers ...string) (runtime.Object, error) {
	return store.Change(ctx, objects, v.name, func(o runtime.Object) { of(o).SetFinalizers(finalizers) })
}

// object returns an object. A pod is on a node if it has succeeded or has a finalizer.
func (v variant) object(finalizers ...string) runtime.Object {
	if v.config {
		return &core.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: v.name, Finalizers: finalizers}}
	}
	node := ""
	if v.succeeded || len(finalizers) > 0 {
		node = "node"
	}
	return store.Pod(v.name, node, finalizers...)
}

func of(o runtime.Object) metav1.Object { return rig.Value(meta.Accessor(o)) }
