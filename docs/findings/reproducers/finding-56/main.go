// Finding 56: a DaemonSet is deleted and recreated, and a pod of its predecessor still terminates on a node that is not eligible at that time. If the node becomes
// eligible before the pod is gone, the new DaemonSet never gets a pod there.
package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/watchsim/watchsim/docs/findings/reproducers/daemons"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
)

const (
	nodes, node = 2, "n0" // n0 is the node that becomes eligible
	settled     = time.Second
	patient     = 10 * time.Second // a pod takes 0.1s
)

var labels = map[string]string{"disk": "ssd"}

// variant is how the node becomes eligible for the new DaemonSet, and whether the old pod is gone by then.
type variant struct {
	what       string
	begin, end func(*corev1.Node)
	selector   map[string]string // of the new DaemonSet
	gone       bool
}

func main() {
	unreachable := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule}, {Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}}
	}
	returns := func(n *corev1.Node) { n.Spec.Taints = nil }
	nothing := func(*corev1.Node) {}
	label := func(n *corev1.Node) { n.Labels = labels }
	rig.Variants("a node that becomes eligible while a pod of the deleted DaemonSet terminates there gets no pod of the new one", []variant{
		{"an unreachable node returns after its old pod is gone", unreachable, returns, nil, true},
		{"an unreachable node returns before its old pod is gone", unreachable, returns, nil, false},
		{"a node gets the label after its old pod is gone", nothing, label, labels, true},
		{"a node gets the label before its old pod is gone", nothing, label, labels, false},
	}, func(v variant) (string, bool, bool) { return v.what, !v.gone, !v.run() })
}

// run deletes and recreates a DaemonSet, and reports whether the new one gets pods on both nodes.
func (v variant) run() bool {
	client := daemons.Cluster(nodes, func(string) time.Time { return time.Now() })
	defer daemons.Start(client)()
	change(client, "n1", func(n *corev1.Node) { n.Labels = labels })
	create(client, "old", nil)
	rig.Until(func() bool { return len(daemons.Pods(client, "old")) == nodes })
	change(client, node, v.begin)
	remove(client)
	time.Sleep(settled)
	create(client, "new", v.selector)
	rig.Until(func() bool { return len(daemons.Pods(client, "new")) == nodes-1 })
	time.Sleep(settled)

	steps := []func(){
		func() { change(client, node, v.end) },
		func() { // as the kubelet does, once the containers have stopped
			rig.Delete(client.CoreV1().Pods(daemons.Space), daemons.Pods(client, "old")[0].Name)
		},
	}
	if v.gone {
		slices.Reverse(steps)
	}
	steps[0]()
	time.Sleep(settled)
	steps[1]()
	everywhere := func() bool { return len(daemons.Pods(client, "new")) == nodes }
	took, done := rig.Wait(10*time.Millisecond, patient, everywhere)
	set := rig.Get(client.AppsV1().DaemonSets(daemons.Space), daemons.Name)
	output := fmt.Sprintf("%s: after %v, %d of %d nodes have a pod, and the status desires %d", v.what, took.Round(100*time.Millisecond),
		len(daemons.Pods(client, "new")), nodes, set.Status.DesiredNumberScheduled)
	if !done {
		set.Annotations = map[string]string{"touched": "true"}
		rig.Update(client.AppsV1().DaemonSets(daemons.Space), set)
		rig.Until(everywhere)
		output += fmt.Sprintf("; once an annotation of the DaemonSet has changed, %d have one", len(daemons.Pods(client, "new")))
	}
	fmt.Println(output)
	return done
}

// create creates the DaemonSet under its name, with a UID and an image of its own.
func create(client *fake.Clientset, image string, selector map[string]string) {
	set := daemons.Set(image, appsv1.RollingUpdateDaemonSet{MaxSurge: new(intstr.FromInt32(0)), MaxUnavailable: new(intstr.FromInt32(1))})
	set.UID, set.Generation, set.Spec.Template.Spec.NodeSelector = types.UID(image), 1, selector
	rig.Create(client.AppsV1().DaemonSets(daemons.Space), set)
}

// remove deletes the DaemonSet, and, as the garbage collector does, its revision and its pods. The pod on the node goes on terminating.
func remove(client *fake.Clientset) {
	rig.Delete(client.AppsV1().DaemonSets(daemons.Space), daemons.Name)
	rig.Must(client.AppsV1().ControllerRevisions(daemons.Space).DeleteCollection(context.Background(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	for _, pod := range daemons.Pods(client, "old") {
		if pod.Spec.NodeName != node {
			rig.Delete(client.CoreV1().Pods(daemons.Space), pod.Name)
			continue
		}
		now := metav1.Now()
		pod.DeletionTimestamp, pod.ResourceVersion = &now, "terminating"
		rig.Update(client.CoreV1().Pods(daemons.Space), &pod)
	}
}

// change changes a node.
func change(client *fake.Clientset, name string, by func(*corev1.Node)) {
	found := rig.Get(client.CoreV1().Nodes(), name)
	by(found)
	rig.Update(client.CoreV1().Nodes(), found)
}
