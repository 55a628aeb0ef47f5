// Finding 59: a node is removed before the pods on it, or removed and registered again, and kube-scheduler takes a ReadWriteOncePod claim for free that a pod
// uses. It places another pod with this claim.
package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

const (
	space, claim, volume = "red", "data", "volume"
	grace                = 30
	settled              = time.Second // longer than the scheduler takes to observe a change
)

// variant is what happens to the first pod with the claim and to its node.
type variant struct {
	what  string
	shows bool
	do    func(c *cluster, node string)
}

func main() {
	etcd := rig.StartEtcd()
	rig.Variants("kube-scheduler has placed two pods with one ReadWriteOncePod claim", []variant{
		{"the first pod goes before its node", false, func(c *cluster, node string) {
			c.deletePod("first", grace)
			c.deletePod("first", 0)
			c.removeNode(node)
			c.place("second", claim)
		}},
		{"the first pod goes after its node", true, func(c *cluster, node string) {
			c.deletePod("first", grace)
			c.removeNode(node)
			c.place("second", claim)
			c.deletePod("first", 0)
		}},
		{"its node is removed, a pod without the claim is placed, and the node is registered again", false, func(c *cluster, node string) {
			c.removeNode(node)
			c.place("other", "")
			c.addNode(node)
		}},
		{"its node is removed and registered again", true, func(c *cluster, node string) {
			c.removeNode(node)
			c.addNode(node)
		}},
	}, func(v variant) (string, bool, bool) { return v.what, v.shows, v.run(etcd) > 1 })
}

// run returns how many pods with the claim are on a node at the end.
func (v variant) run(etcd string) int {
	c := start(etcd, "/"+v.what)
	for _, name := range []string{"node-1", "node-2", "node-3"} {
		c.addNode(name)
	}
	c.place("first", claim)
	first := rig.Get(c.pods(), "first")
	v.do(c, first.Spec.NodeName)
	refused := c.place("last", claim)
	pods := rig.List(c.pods(), "")
	var placed []string
	for _, pod := range pods.Items {
		if len(pod.Spec.Volumes) > 0 && pod.Spec.NodeName != "" {
			placed = append(placed, fmt.Sprintf("%s (%s)", pod.Name, pod.Spec.NodeName))
		}
	}
	if refused != "" {
		refused = "; last: " + refused
	}
	fmt.Printf("%s: pods with the claim: %s%s\n", v.what, strings.Join(placed, ", "), refused)
	return len(placed)
}

type cluster struct{ kubernetes.Interface }

// start runs an API server and kube-scheduler, with its default configuration, and creates the claim and its volume, which are bound.
func start(etcd, prefix string) *cluster {
	client := api.Partial(api.Over(store.Options{Etcd: etcd, Prefix: prefix}, api.Directly), fake.NewClientset())
	c := &cluster{client}
	api.Namespace(c, space)
	spec := api.Claim(corev1.ReadWriteOncePod)
	spec.VolumeName, spec.StorageClassName = volume, new("")
	bound := rig.Create(c.CoreV1().PersistentVolumeClaims(space), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: claim, Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}}, Spec: spec,
	})
	rig.Create(c.CoreV1().PersistentVolumes(), &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: volume}, Spec: corev1.PersistentVolumeSpec{
		AccessModes: spec.AccessModes, Capacity: spec.Resources.Requests, ClaimRef: &corev1.ObjectReference{Namespace: space, Name: claim, UID: bound.UID},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: volume}},
	}})

	api.Schedule(context.Background(), client, informers.NewSharedInformerFactory(client, 0))
	return c
}

func (c *cluster) pods() typed.PodInterface { return c.CoreV1().Pods(space) }

func (c *cluster) addNode(name string) {
	rig.Create(c.CoreV1().Nodes(), api.Node(name))
	time.Sleep(settled)
}

func (c *cluster) removeNode(name string) {
	rig.Delete(c.CoreV1().Nodes(), name)
	time.Sleep(settled)
}

// deletePod deletes a pod. Its kubelet deletes it again, without a grace period, once it has stopped, and the pod garbage collector if the node is gone.
func (c *cluster) deletePod(name string, grace int64) {
	rig.Delete(c.pods(), name, metav1.DeleteOptions{GracePeriodSeconds: &grace})
	time.Sleep(settled)
}

// place creates a pod that uses a claim, and waits for the scheduler, which may have a reason not to place it.
func (c *cluster) place(name, claim string) (refused string) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "image"}}}}
	if claim != "" {
		source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: source}}
	}
	rig.Create(c.pods(), pod)
	rig.Await(time.Millisecond, 10*time.Second, "the scheduler neither places nor refuses the pod "+name, func() bool {
		pod := rig.Get(c.pods(), name)
		for _, condition := range pod.Status.Conditions {
			if condition.Reason == corev1.PodReasonUnschedulable {
				refused, _, _ = strings.Cut(condition.Message, ". preemption:")
			}
		}
		return pod.Spec.NodeName != "" || refused != ""
	})
	time.Sleep(settled)
	return refused
}
