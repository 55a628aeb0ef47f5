// Finding 26: a workload is deleted and recreated while its controller syncs it. The new workload gets no pods for five minutes, as the controller waits for the pod that it
// creates for the old one.
package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
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

// patient is how long a workload waits for its pod; that takes milliseconds.
const patient = 10 * time.Second

// told is how long an informer has to call its handlers once it has an object.
const told = 100 * time.Millisecond

func main() {
	shown := 0
	for _, w := range []workload{daemonSets, replicaSets, jobs} {
		fmt.Printf("%s created: its pod exists after %v\n", w.kind, w.waits(false))
		waits := w.waits(true)
		if waits < patient {
			fmt.Printf("%s recreated during a sync of its predecessor: its pod exists after %v\n", w.kind, waits)
			continue
		}
		fmt.Printf("%s recreated during a sync of its predecessor: it has no pod after %v\n", w.kind, waits)
		shown++
	}
	rig.Verdict(shown, 3, "a workload gets no pods")
}

// workload is a kind of workload that needs a pod, with its controller.
type workload struct {
	kind     string
	resource schema.GroupVersionResource
	object   func(uid types.UID) runtime.Object
	// other makes the controller create a pod. verb and of describe a request that the controller sends before it counts the pods to create.
	other      runtime.Object
	verb, of   string
	controller api.Controller
}

// cached returns the UID of the workload in the controller's informer.
func (w workload) cached(factory informers.SharedInformerFactory) types.UID {
	object, err := rig.Value(factory.ForResource(w.resource)).Lister().ByNamespace(space).Get(name)
	if err != nil {
		return ""
	}
	return object.(metav1.Object).GetUID()
}

// waits returns how long a workload waits for its pod, in milliseconds. If it replaces another one, the other was deleted and this one created during a sync of
// the other; the controller has observed both when it counts the pods to create.
func (w workload) waits(replaces bool) time.Duration {
	client := fake.NewClientset(w.other.DeepCopyObject(), w.object("old"))
	factory := informers.NewSharedInformerFactory(client, 0)
	tracker, pods := client.Tracker(), corev1.SchemeGroupVersion.WithResource("pods")
	created := make(chan types.UID, 10)
	var number atomic.Int32
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		pod := action.(clienttesting.CreateAction).GetObject().(*corev1.Pod).DeepCopy()
		owner := pod.OwnerReferences[0].UID
		pod.Namespace, pod.Name = space, fmt.Sprintf("%s-%d", name, number.Add(1))
		pod.UID = types.UID(pod.Name)
		rig.Must(tracker.Create(pods, pod, space))
		created <- owner
		return true, pod, nil
	})
	client.PrependReactor(w.verb, w.of, func(action clienttesting.Action) (bool, runtime.Object, error) {
		if replaces && w.cached(factory) == "old" {
			rig.Must(tracker.Delete(w.resource, space, name))
			rig.Must(tracker.Create(w.resource, w.object("new"), space))
			rig.Until(func() bool { return w.cached(factory) == "new" })
			time.Sleep(told)
		}
		return false, nil, nil
	})
	client.PrependReactor("update", w.resource.Resource, func(action clienttesting.Action) (bool, runtime.Object, error) { // the fake accepts any UID
		object := rig.Value(tracker.Get(w.resource, space, name))
		if object.(metav1.Object).GetUID() != action.(clienttesting.UpdateAction).GetObject().(metav1.Object).GetUID() {
			return true, nil, apierrors.NewConflict(w.resource.GroupResource(), name, fmt.Errorf("expected another UID"))
		}
		return false, nil, nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	began := time.Now()
	run := w.controller(ctx, client, factory)
	factory.Start(ctx.Done())
	go run(ctx, 1)
	wanted := types.UID("old")
	if replaces {
		wanted = "new"
	}
	for deadline := time.After(patient); ; {
		select {
		case owner := <-created:
			if owner == wanted {
				return time.Since(began).Round(time.Millisecond)
			}
		case <-deadline:
			return patient
		}
	}
}

// meta returns the metadata of a workload.
func meta(uid types.UID) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: space, Name: name, UID: uid, Generation: 1}
}

var (
	selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: selector.MatchLabels}}
)

var daemonSets = workload{
	kind: "DaemonSet", resource: appsv1.SchemeGroupVersion.WithResource("daemonsets"), verb: "create", of: "controllerrevisions",
	other: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}},
	object: func(uid types.UID) runtime.Object {
		return &appsv1.DaemonSet{ObjectMeta: meta(uid), Spec: appsv1.DaemonSetSpec{
			Selector: selector, Template: template, RevisionHistoryLimit: new(int32(10)), UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType},
		}}
	},
	controller: api.DaemonSets,
}

// orphan is a pod that a workload adopts, so that it needs only one more.
var orphan = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: "orphan", UID: "orphan", Labels: selector.MatchLabels}}

var replicaSets = workload{
	kind: "ReplicaSet", resource: appsv1.SchemeGroupVersion.WithResource("replicasets"), verb: "patch", of: "pods", other: orphan,
	object: func(uid types.UID) runtime.Object {
		return &appsv1.ReplicaSet{ObjectMeta: meta(uid), Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template, Replicas: new(int32(2))}}
	},
	controller: api.ReplicaSets,
}

var jobs = workload{
	kind: "Job", resource: batchv1.SchemeGroupVersion.WithResource("jobs"), verb: "patch", of: "pods", other: orphan,
	object: func(uid types.UID) runtime.Object {
		two := new(int32(2))
		return &batchv1.Job{ObjectMeta: meta(uid), Spec: batchv1.JobSpec{Selector: selector, Template: template, Parallelism: two, Completions: two, BackoffLimit: two}}
	},
	controller: api.Jobs,
}
