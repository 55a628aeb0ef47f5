// Finding 59: a node is removed before the pods on it, or removed and registered again, and kube-scheduler takes a ReadWriteOncePod claim for free that a pod
// uses. It places another pod with this claim.
package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/utils/ptr"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

const (
	space, claim, volume = "red", "data", "volume"
	grace                = 30
	settled              = time.Second // longer than the scheduler takes to observe a change
)

var ctx = context.Background()

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
	first, err := c.pods().Get(ctx, "first", metav1.GetOptions{})
	rig.Must(err)
	v.do(c, first.Spec.NodeName)
	refused := c.place("last", claim)
	pods, err := c.pods().List(ctx, metav1.ListOptions{})
	rig.Must(err)
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

// cluster is a client of an API server, and a fake one for resources that this does not serve, of which there are no objects.
type cluster struct {
	*fake.Clientset
	server kubernetes.Interface
}

func (c *cluster) CoreV1() typed.CoreV1Interface {
	return core{c.server.CoreV1(), c.Clientset.CoreV1()}
}

type core struct {
	typed.CoreV1Interface
	fake typed.CoreV1Interface
}

func (c core) Services(space string) typed.ServiceInterface { return c.fake.Services(space) }

func (c core) ReplicationControllers(space string) typed.ReplicationControllerInterface {
	return c.fake.ReplicationControllers(space)
}

// start runs an API server and kube-scheduler, with its default configuration, and creates the claim and its volume, which are bound.
func start(etcd, prefix string) *cluster {
	c := &cluster{fake.NewClientset(), kubernetes.NewForConfigOrDie(api.Over(store.Options{Etcd: etcd, Prefix: prefix}, api.Directly))}
	_, err := c.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: space}}, metav1.CreateOptions{})
	rig.Must(err)
	modes, size := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}, corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	bound, err := c.CoreV1().PersistentVolumeClaims(space).Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: claim, Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, Resources: corev1.VolumeResourceRequirements{Requests: size}, VolumeName: volume, StorageClassName: ptr.To(""),
		},
	}, metav1.CreateOptions{})
	rig.Must(err)
	_, err = c.CoreV1().PersistentVolumes().Create(ctx, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: volume}, Spec: corev1.PersistentVolumeSpec{
		AccessModes: modes, Capacity: size, ClaimRef: &corev1.ObjectReference{Namespace: space, Name: claim, UID: bound.UID},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: volume}},
	}}, metav1.CreateOptions{})
	rig.Must(err)

	factory := informers.NewSharedInformerFactory(c, 0)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: c.EventsV1()})
	s, err := scheduler.New(ctx, c, factory, nil, func(name string) events.EventRecorderLogger { return broadcaster.NewRecorder(scheme.Scheme, name) })
	rig.Must(err)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	rig.Must(s.WaitForHandlersSync(ctx))
	go s.Run(ctx)
	return c
}

func (c *cluster) pods() typed.PodInterface { return c.CoreV1().Pods(space) }

func (c *cluster) addNode(name string) {
	all := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi"), corev1.ResourcePods: resource.MustParse("10")}
	_, err := c.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: all, Capacity: all},
	}, metav1.CreateOptions{})
	rig.Must(err)
	time.Sleep(settled)
}

func (c *cluster) removeNode(name string) {
	rig.Must(c.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}))
	time.Sleep(settled)
}

// deletePod deletes a pod. Its kubelet deletes it again, without a grace period, once it has stopped, and the pod garbage collector if the node is gone.
func (c *cluster) deletePod(name string, grace int64) {
	rig.Must(c.pods().Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &grace}))
	time.Sleep(settled)
}

// place creates a pod that uses a claim, and waits for the scheduler, which may have a reason not to place it.
func (c *cluster) place(name, claim string) (refused string) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "image"}}}}
	if claim != "" {
		source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: source}}
	}
	_, err := c.pods().Create(ctx, pod, metav1.CreateOptions{})
	rig.Must(err)
	if !rig.Until(func() bool {
		pod, err = c.pods().Get(ctx, name, metav1.GetOptions{})
		rig.Must(err)
		for _, condition := range pod.Status.Conditions {
			if condition.Reason == corev1.PodReasonUnschedulable {
				refused, _, _ = strings.Cut(condition.Message, ". preemption:")
			}
		}
		return pod.Spec.NodeName != "" || refused != ""
	}) {
		rig.Must(errors.New("the scheduler neither places nor refuses the pod " + name))
	}
	time.Sleep(settled)
	return refused
}
