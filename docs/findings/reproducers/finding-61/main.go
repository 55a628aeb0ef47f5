// Finding 61: kube-scheduler binds a pod, and its watch is interrupted. Before it lists the pods again, this one is deleted, and another one of its name created. The
// scheduler keeps the room of the deleted pod on the node until it restarts.
package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/scheduler"

	"github.com/watchsim/watchsim/docs/findings/reproducers/api"
	"github.com/watchsim/watchsim/docs/findings/reproducers/rig"
	"github.com/watchsim/watchsim/docs/findings/reproducers/store"
)

const (
	space, name, node = "red", "web-0", "node-1"
	patient           = 20 * time.Second
	settled           = 2 * time.Second // longer than the scheduler takes to observe a change
)

var ctx = context.Background()

// variant says whether the API server of the scheduler's informers is down from the binding of the pod until its deletion. It names the pod that is created then, and
// the node that this pod has from the beginning, if any.
type variant struct {
	what         string
	down         bool
	second, node string
}

func main() {
	etcd := rig.StartEtcd()
	rig.Variants("kube-scheduler keeps the room of a deleted pod", []variant{
		{"its watch goes on, web-0 is deleted, and web-0 created", false, name, ""},
		{"its watch is interrupted, web-0 is deleted, and web-1 created", true, "web-1", ""},
		{"its watch is interrupted, web-0 is deleted, and web-0 created", true, name, ""},
		{"its watch is interrupted, web-0 is deleted, and web-0 created on another node", true, name, "node-2"},
	}, func(v variant) (string, bool, bool) { return v.what, v.down && v.second == name, v.run(etcd) })
}

// run has a pod bound and deleted, and another one created. This one is deleted as well, unless it is on another node. So the node is empty. A last pod, of a higher
// priority, needs all of it. run reports whether that one stays pending.
func (v variant) run(etcd string) bool {
	over := store.Options{Etcd: etcd, Prefix: "/" + v.what}
	config := api.Over(over, api.Directly)
	c := &cluster{config: config, user: kubernetes.NewForConfigOrDie(config), informing: rig.NewRelay(host(config))}
	api.Namespace(c.user, space)
	rig.Create(c.user.CoreV1().Nodes(), api.Node(node))
	interrupt := func() {}
	if v.down {
		interrupt = c.informing.Down
	}
	observed, stop := c.schedule(interrupt)

	c.create(name, "100m", "", 0)
	c.place(name)
	c.remove(name)
	c.create(v.second, "100m", v.node, 0)
	if v.down { // As after a restart, the watch cache does not have the events that the informers have missed.
		c.informing.UpTo(host(api.Over(over, api.Directly)))
	}
	c.place(v.second)
	rig.Await(time.Millisecond, 10*time.Second, "the scheduler does not observe the second pod on a node", func() bool {
		pod, err := observed.Pods(space).Get(v.second)
		return err == nil && pod.Spec.NodeName != ""
	})
	if v.node == "" {
		c.remove(v.second)
	}
	time.Sleep(settled)

	c.create("last", "1", "", 1)
	why, placed := c.placed("last")
	if placed {
		fmt.Printf("%s: a pod for the whole empty node is placed\n", v.what)
		return false
	}
	stop()
	c.schedule(func() {})
	c.place("last")
	fmt.Printf("%s: a pod for the whole empty node is not placed within %v: %s; it is placed after a restart\n", v.what, patient, why)
	if second, err := c.user.CoreV1().Pods(space).Get(ctx, v.second, metav1.GetOptions{}); err == nil && second.DeletionTimestamp != nil {
		fmt.Printf("%s: the pod on the other node is being deleted: %s\n", v.what, second.Status.Conditions[len(second.Status.Conditions)-1].Message)
	}
	return true
}

func host(config *rest.Config) string { return strings.TrimPrefix(config.Host, "http://") }

// cluster is an API server, a client of it, and the way of informers to the one that they use.
type cluster struct {
	config    *rest.Config
	user      *kubernetes.Clientset
	informing *rig.Relay
}

// schedule runs kube-scheduler with its default configuration. It calls interrupt before the first pod is bound.
func (c *cluster) schedule(interrupt func()) (pods listers.PodLister, stop func()) {
	ctx, stop := context.WithCancel(ctx)
	informing, direct := *c.config, *c.config
	informing.Host = "http://" + c.informing.Address
	once := sync.OnceFunc(interrupt)
	direct.Wrap(rig.Before(func(request *http.Request) {
		if strings.HasSuffix(request.URL.Path, "/binding") {
			once()
		}
	}))
	factory := scheduler.NewInformerFactory(api.Partial(&informing, fake.NewClientset()), 0, nil)
	pods = factory.Core().V1().Pods().Lister()
	api.Schedule(ctx, api.Partial(&direct, fake.NewClientset()), factory)
	return pods, stop
}

// create creates a pod that requests CPUs, on a node or, without one, for the scheduler.
func (c *cluster) create(name, cpus, node string, priority int32) {
	requests := corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpus)}}
	rig.Create(c.user.CoreV1().Pods(space), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{NodeName: node, Priority: &priority, Containers: []corev1.Container{{Name: "c", Image: "image", Resources: requests}}},
	})
}

// remove has a pod fail, as a kubelet that refuses it does, and deletes it, as the StatefulSet controller does then. That needs no grace period.
func (c *cluster) remove(name string) {
	rig.Patch(c.user.CoreV1().Pods(space), name, `{"status":{"phase":"Failed","reason":"OutOfcpu"}}`, "status")
	rig.Delete(c.user.CoreV1().Pods(space), name)
}

// place waits until a pod is on a node.
func (c *cluster) place(name string) {
	if why, placed := c.placed(name); !placed {
		rig.Must(fmt.Errorf("the scheduler does not place %s: %s", name, why))
	}
}

// placed is like place, and returns what the scheduler says if the pod stays pending.
func (c *cluster) placed(name string) (why string, placed bool) {
	_, placed = rig.Wait(10*time.Millisecond, patient, func() bool {
		pod := rig.Get(c.user.CoreV1().Pods(space), name)
		for _, condition := range pod.Status.Conditions {
			why, _, _ = strings.Cut(condition.Message, ". ")
		}
		return pod.Spec.NodeName != ""
	})
	return why, placed
}
