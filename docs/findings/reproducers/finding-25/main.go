// Finding 25: a workload is deleted and recreated just before its controller writes its status. The controller retries, and writes the status of the old workload to
// the new one, whose observedGeneration is then ahead of its generation.
package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

// space and name are the workload's namespace and name.
const space, name = "red", "a"

// settles is how long a controller has to correct the status; that takes milliseconds.
const settles = 5 * time.Second

func main() {
	shown := 0
	for _, w := range []workload{daemonSets, statefulSets} {
		is := w.replaced()
		fmt.Printf("%s recreated while its status was written: %v later it has generation %d and observedGeneration %d\n", w.kind, settles, is.generation, is.observed)
		if is.observed > is.generation {
			shown++
		}
	}
	rig.Verdict(shown, 2, "a workload has the status of its predecessor")
}

// workload is a kind of workload with its controller.
type workload struct {
	kind     string
	resource schema.GroupVersionResource
	// object returns a workload with a UID and generation, which its controller has not synced yet.
	object     func(uid types.UID, generation int64) runtime.Object
	controller api.Controller
	// observed returns the observedGeneration of a workload.
	observed func(runtime.Object) int64
}

// state is the part of a workload that this program compares.
type state struct {
	uid                  types.UID
	generation, observed int64
}

func (w workload) state(object runtime.Object) state {
	meta := object.(metav1.Object)
	return state{meta.GetUID(), meta.GetGeneration(), w.observed(object)}
}

// cached returns the state in the controller's informer.
func (w workload) cached(factory informers.SharedInformerFactory) state {
	object, err := rig.Value(factory.ForResource(w.resource)).Lister().ByNamespace(space).Get(name)
	if err != nil {
		return state{}
	}
	return w.state(object)
}

// read returns the state in the API server.
func (w workload) read(tracker clienttesting.ObjectTracker) state {
	return w.state(rig.Value(tracker.Get(w.resource, space, name)))
}

// replaced returns the state of a workload that was recreated just before the status update of its predecessor arrived. Each time the controller's
// informer observes a write before the controller gets the response, as watches and requests are separate streams.
func (w workload) replaced() state {
	client := fake.NewClientset(w.object("old", 2))
	factory := informers.NewSharedInformerFactory(client, 0)
	tracker, done := client.Tracker(), false
	client.PrependReactor("update", w.resource.Resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
		object := action.(clienttesting.UpdateAction).GetObject()
		if done {
			err := tracker.Update(w.resource, object, space)
			rig.Until(func() bool { return w.cached(factory) == w.read(tracker) })
			return true, object, err
		}
		done = true
		rig.Must(tracker.Delete(w.resource, space, name))
		rig.Must(tracker.Create(w.resource, w.object("new", 1), space))
		rig.Until(func() bool { return w.cached(factory) == w.read(tracker) })
		return true, nil, apierrors.NewConflict(w.resource.GroupResource(), name, fmt.Errorf("expected UID new, found UID old"))
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	run := w.controller(ctx, client, factory)
	factory.Start(ctx.Done())
	go run(ctx, 1)
	time.Sleep(settles)
	return w.read(tracker)
}

// meta returns the metadata of a workload.
func meta(uid types.UID, generation int64) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: space, Name: name, UID: uid, Generation: generation}
}

var (
	selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector.MatchLabels}}
)

var daemonSets = workload{
	kind: "DaemonSet", resource: appsv1.SchemeGroupVersion.WithResource("daemonsets"),
	object: func(uid types.UID, generation int64) runtime.Object {
		return &appsv1.DaemonSet{ObjectMeta: meta(uid, generation), Spec: appsv1.DaemonSetSpec{
			Selector: selector, Template: template, RevisionHistoryLimit: new(int32(10)), UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType},
		}}
	},
	controller: api.DaemonSets,
	observed:   func(object runtime.Object) int64 { return object.(*appsv1.DaemonSet).Status.ObservedGeneration },
}

var statefulSets = workload{
	kind: "StatefulSet", resource: appsv1.SchemeGroupVersion.WithResource("statefulsets"),
	object: func(uid types.UID, generation int64) runtime.Object {
		return &appsv1.StatefulSet{ObjectMeta: meta(uid, generation), Spec: appsv1.StatefulSetSpec{
			Selector: selector, Template: template, Replicas: new(int32(0)), RevisionHistoryLimit: new(int32(10)),
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
		}}
	},
	controller: api.StatefulSets,
	observed:   func(object runtime.Object) int64 { return object.(*appsv1.StatefulSet).Status.ObservedGeneration },
}
