// Finding 57: pods tolerate the taint of their node for a while, and are then recreated under their names on a node without taints. If the watch of the taint eviction
// controller lags behind or is interrupted meanwhile, the controller evicts the new pods when the time of the old ones is over.
package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/controller/tainteviction"

	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	space     = "default"
	count     = 20 // pods
	tolerates = 10 * time.Second
	settled   = time.Second
	patient   = 2 * tolerates
)

// variant is how the watch of pods goes on while these are recreated. One that stalls goes on afterwards, one that is interrupted begins with a list.
type variant struct {
	what                string
	stalls, interrupted bool
}

func main() {
	rig.Variants("pods are evicted from a node without taints, because pods of their names were on one with a taint", []variant{
		{"the watch is in time", false, false}, {"the watch lags behind", true, false}, {"the watch is interrupted", true, true},
	}, func(v variant) (string, bool, bool) { return v.what, v.stalls, v.run() > 0 })
}

// run recreates pods on another node, and returns how many of the new ones are evicted.
func (v variant) run() (evicted int) {
	client := fake.NewClientset(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "tainted"}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoExecute}}}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "healthy"}})
	var stalled atomic.Bool
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return stalled.Load(), nil, apierrors.NewServiceUnavailable("the API server restarts")
	})
	watches := make(chan *watch.RaceFreeFakeWatcher, 2) // the second is that after the interruption
	client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
		changes := rig.Value(client.Tracker().Watch(corev1.SchemeGroupVersion.WithResource("pods"), space))
		forwarded := rig.Forward(changes, func() { rig.Until(func() bool { return !stalled.Load() }) })
		watches <- forwarded
		return true, forwarded, nil
	})
	pods := client.CoreV1().Pods(space)
	for i := range count {
		create(client, i, "old", "tainted")
	}
	running, stop := context.WithCancel(context.Background())
	defer stop()
	factory := informers.NewSharedInformerFactory(client, 0)
	controller := rig.Value(tainteviction.New(running, client, factory.Core().V1().Pods(), factory.Core().V1().Nodes(), "taint-eviction-controller"))
	factory.Start(running.Done())
	factory.WaitForCacheSync(running.Done())
	go controller.Run(running)
	time.Sleep(settled)

	stalled.Store(v.stalls)
	if v.interrupted {
		(<-watches).Error(&apierrors.NewResourceExpired("too old resource version").ErrStatus)
		time.Sleep(settled)
	}
	for i := range count {
		rig.Delete(pods, name(i))
		time.Sleep(settled / count)
		create(client, i, "new", "healthy")
	}
	stalled.Store(false)
	took, _ := rig.Wait(10*time.Millisecond, patient, func() bool {
		evicted = count - len(rig.List(pods, "").Items)
		return evicted == count
	})
	fmt.Printf("%s: %v after they were created on a node without taints, %d of %d pods have been evicted\n", v.what, took.Round(100*time.Millisecond), evicted, count)
	return evicted
}

func name(i int) string { return fmt.Sprintf("db-%d", i) }

// create creates a pod that tolerates a taint for a while.
func create(client *fake.Clientset, i int, uid types.UID, node string) {
	rig.Create(client.CoreV1().Pods(space), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name(i), UID: uid},
		Spec: corev1.PodSpec{NodeName: node, Tolerations: []corev1.Toleration{
			{Key: "maintenance", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(tolerates.Seconds()))},
		}},
	})
}
